package targets

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// longestManifest bounds what is read.
const longestManifest = 1 << 20

// decode reads a manifest's text into m. What is wrong with it goes to f, and
// decoding continues, so that one reading finds all mistakes; f also learns
// where each key is written.
//
// It returns false where there is no manifest to say more about.
//
// It walks the syntax tree itself, because the library's decoder stops at the
// first mistake and forgets the places.
func decode(text []byte, m *Manifest, f *findings) bool {
	if len(text) > longestManifest {
		f.addAt(position{1, 1}, "", "the manifest is %d bytes long; at most %d are read", len(text), longestManifest)
		return false
	}
	file, err := parse(text)
	if err != nil {
		var syntax yaml.Error
		if errors.As(err, &syntax) {
			f.addAt(place(syntax.GetToken()), "", "this is not YAML: %s", syntax.GetMessage())
			return false
		}
		f.addAt(position{1, 1}, "", "this is not YAML: %v", err)
		return false
	}
	var documents []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.NullType {
			documents = append(documents, doc.Body)
		}
	}
	switch {
	case len(documents) == 0:
		f.addAt(position{1, 1}, "", "the manifest is empty; write at least name, app, relay, committed and event")
		return false
	case len(documents) > 1:
		f.addAt(place(documents[1].GetToken()), "", "a second document begins here; write one manifest a file")
		return false
	}
	d := decoder{findings: f, anchors: map[string]ast.Node{}}
	f.at[""] = position{1, 1}
	d.value("", documents[0], reflect.ValueOf(m).Elem())
	return isMapping(documents[0])
}

// parse keeps a panic of the YAML library from taking the process with it: a
// manifest is a file that anybody wrote.
func parse(text []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("the YAML library gave up: %v", p)
		}
	}()
	return parser.ParseBytes(text, 0)
}

// scalarForm is a struct that may also be written as one word. It tells whether
// it took the word.
type scalarForm interface{ setScalar(word string) bool }

// listForm is a struct that may also be written as a list, which is then the
// value of one of its keys.
type listForm interface{ listKey() string }

// mended is a struct that says itself what could have been written.
type mended interface{ mend() string }

func mendOf(s reflect.Type) string {
	if m, ok := reflect.New(s).Interface().(mended); ok {
		return m.mend()
	}
	return "write a mapping with some of: " + known(fieldNames(s))
}

// setScalar takes "relay: app".
func (r *Relay) setScalar(word string) bool {
	r.InApp = word == RoleApp
	return r.InApp
}

func (*Relay) mend() string {
	return `write "relay: app" if the app's process publishes too, or "relay: {start: [./relay]}"`
}

type decoder struct {
	*findings
	anchors map[string]ast.Node
}

func (d *decoder) value(key string, node ast.Node, into reflect.Value) {
	node, ok := d.resolve(key, node)
	if !ok {
		return
	}
	if _, written := d.at[key]; !written {
		d.at[key] = place(node.GetToken())
	}
	switch into.Kind() {
	case reflect.Pointer:
		if node.Type() == ast.NullType {
			d.wrong(key, node, "leave the key out if there is none")
			return
		}
		into.Set(reflect.New(into.Type().Elem()))
		d.value(key, node, into.Elem())
	case reflect.Struct:
		d.structure(key, node, into)
	case reflect.Map:
		d.dictionary(key, node, into)
	case reflect.Slice:
		d.list(key, node, into)
	default:
		d.scalar(key, node, into)
	}
}

// resolve follows anchors and aliases, and refuses what a manifest has no use
// for. An alias can only name an anchor that ended before it, so there are no
// circles.
func (d *decoder) resolve(key string, node ast.Node) (ast.Node, bool) {
	switch n := node.(type) {
	case *ast.AnchorNode:
		inner, ok := d.resolve(key, n.Value)
		if ok && n.Name != nil {
			d.anchors[n.Name.GetToken().Value] = inner
		}
		return inner, ok
	case *ast.AliasNode:
		name := ""
		if n.Value != nil {
			name = n.Value.GetToken().Value
		}
		target, ok := d.anchors[name]
		if !ok {
			d.addAt(place(n.GetToken()), key, "alias *%s has no anchor before it", name)
		}
		return target, ok
	case *ast.TagNode:
		d.addAt(place(n.GetToken()), key, "tags are not used in manifests; leave out %s", n.GetToken().Value)
		return nil, false
	case nil:
		d.add(key, "nothing is written here; leave the key out if there is none")
		return nil, false
	}
	return node, true
}

func (d *decoder) structure(key string, node ast.Node, into reflect.Value) {
	if !isMapping(node) {
		form := into.Addr().Interface()
		if word, ok := scalarText(node); ok {
			if scalar, has := form.(scalarForm); has && scalar.setScalar(word) {
				return
			}
		}
		if list, has := form.(listForm); has && node.Type() == ast.SequenceType {
			fields := fieldsByName(into, list.listKey())
			d.list(key, node, fields[0])
			return
		}
		d.wrong(key, node, mendOf(into.Type()))
		return
	}
	for _, pair := range pairs(node) {
		name := pair.Key.GetToken().Value
		fields := fieldsByName(into, name)
		if len(fields) == 0 {
			d.addAt(place(pair.Key.GetToken()), key, "unknown key %q; %s", name, meant(name, fieldNames(into.Type())))
			continue
		}
		child := join(key, name)
		d.at[child] = pairPlace(pair)
		if len(fields) == 1 {
			d.value(child, pair.Value, fields[0])
			continue
		}
		d.either(child, pair.Value, into.Type(), name, fields)
	}
}

// either decodes a key that is true or false, or else requests: two fields have
// its name.
func (d *decoder) either(key string, node ast.Node, in reflect.Type, name string, fields []reflect.Value) {
	node, ok := d.resolve(key, node)
	if !ok {
		return
	}
	for _, field := range fields {
		isList := field.Kind() == reflect.Slice
		if isList == (isMapping(node) || node.Type() == ast.SequenceType) && (isList || node.Type() == ast.BoolType) {
			d.value(key, node, field)
			return
		}
	}
	mend := ""
	eachField(in, func(n string, field reflect.StructField, _ []int) {
		if n == name && field.Tag.Get("mend") != "" {
			mend = field.Tag.Get("mend")
		}
	})
	d.wrong(key, node, mend)
}

func (d *decoder) dictionary(key string, node ast.Node, into reflect.Value) {
	if !isMapping(node) {
		d.wrong(key, node, "write a mapping: {NAME: value}")
		return
	}
	into.Set(reflect.MakeMap(into.Type()))
	for _, pair := range pairs(node) {
		name := pair.Key.GetToken().Value
		child := join(key, name)
		d.at[child] = pairPlace(pair)
		item := reflect.New(into.Type().Elem()).Elem()
		d.value(child, pair.Value, item)
		into.SetMapIndex(reflect.ValueOf(name), item)
	}
}

func (d *decoder) list(key string, node ast.Node, into reflect.Value) {
	element := into.Type().Elem()
	isStruct := element.Kind() == reflect.Struct
	if isStruct && isMapping(node) { // a list of one
		into.Set(reflect.MakeSlice(into.Type(), 1, 1))
		d.value(key, node, into.Index(0))
		return
	}
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		mend := "write a list: [one, two]"
		if word, scalar := scalarText(node); scalar && len(word) < 60 {
			mend = fmt.Sprintf("write a list: [%s]", word)
		}
		if isStruct {
			mend = mendOf(element)
		}
		d.wrong(key, node, mend)
		return
	}
	if len(sequence.Values) > 0 && isStruct {
		if _, isWord := scalarText(sequence.Values[0]); isWord {
			d.addAt(place(sequence.Values[0].GetToken()), key, "this is a list of words; %s", mendOf(element))
			return
		}
	}
	into.Set(reflect.MakeSlice(into.Type(), len(sequence.Values), len(sequence.Values)))
	for i, item := range sequence.Values {
		d.value(fmt.Sprintf("%s[%d]", key, i), item, into.Index(i))
	}
}

func (d *decoder) scalar(key string, node ast.Node, into reflect.Value) {
	word, ok := scalarText(node)
	if !ok {
		d.wrong(key, node, "write "+kindName(into.Kind()))
		return
	}
	_, isBool := node.(*ast.BoolNode)
	switch into.Kind() {
	case reflect.String:
		into.SetString(word)
	case reflect.Bool:
		if !isBool {
			d.wrong(key, node, "write true or false")
			return
		}
		into.SetBool(word == "true" || word == "True" || word == "TRUE")
	case reflect.Int:
		n, err := strconv.ParseInt(word, 10, 32)
		if _, isInt := node.(*ast.IntegerNode); !isInt || err != nil {
			d.wrong(key, node, "write a whole number")
			return
		}
		into.SetInt(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(word, 64)
		if quoted(node) || err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			d.wrong(key, node, "write a number")
			return
		}
		into.SetFloat(x)
	}
}

// wrong notes a value of a wrong kind.
func (d *decoder) wrong(key string, node ast.Node, mend string) {
	d.addAt(place(node.GetToken()), key, "this is %s; %s", describe(node), mend)
}
