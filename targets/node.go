package targets

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// pairs are a mapping's entries. The library has two forms of a mapping.
func pairs(node ast.Node) []*ast.MappingValueNode {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// scalarText is the text of a scalar as it is written, so that 8080 and 1.10
// keep their form where a text is wanted.
func scalarText(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return node.GetToken().Value, true
	}
	return "", false
}

func isMapping(node ast.Node) bool {
	switch node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

func describe(node ast.Node) string {
	if word, ok := scalarText(node); ok {
		if len(word) > 40 {
			word = word[:40] + "..."
		}
		return fmt.Sprintf("%q", word)
	}
	switch node.(type) {
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "empty"
	}
	return "a mapping"
}

// place is where a token stands; the first line where that is not known.
func place(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{1, 1}
	}
	return position{t.Position.Line, t.Position.Column}
}

// pairPlace is where a pair's value stands, if that is a scalar or a flow
// collection. A block collection has no place better than its key.
func pairPlace(pair *ast.MappingValueNode) position {
	key := place(pair.Key.GetToken())
	switch n := pair.Value.(type) {
	case nil, *ast.MappingValueNode:
		return key
	case *ast.MappingNode:
		if !n.IsFlowStyle {
			return key
		}
	case *ast.SequenceNode:
		if !n.IsFlowStyle {
			return key
		}
	}
	return place(pair.Value.GetToken())
}

// quoted tells a text from a plain word. The library takes 1e9 for a word,
// which as a number it is.
func quoted(node ast.Node) bool {
	_, isLiteral := node.(*ast.LiteralNode)
	return isLiteral || node.GetToken().Type == token.SingleQuoteType || node.GetToken().Type == token.DoubleQuoteType
}
