package targets

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// validate checks a document by what our schema uses of JSON Schema, and refuses
// to judge by what it does not know.
func validate(root, schema map[string]any, document any, at string) error {
	for keyword, value := range schema {
		if err := keywordHolds(root, schema, keyword, value, document, at); err != nil {
			return err
		}
	}
	return nil
}

func keywordHolds(root, schema map[string]any, keyword string, value, document any, at string) error {
	wrong := func() error { return fmt.Errorf("%s: %v is not %s %v", at, document, keyword, value) }
	object, isObject := document.(map[string]any)
	array, isArray := document.([]any)
	number, isNumber := numberOf(document)
	switch keyword {
	case "$schema", "title", "description", "definitions":
	case "$ref":
		name := strings.TrimPrefix(value.(string), "#/definitions/")
		return validate(root, root["definitions"].(map[string]any)[name].(map[string]any), document, at)
	case "allOf":
		for _, one := range value.([]any) {
			if err := validate(root, one.(map[string]any), document, at); err != nil {
				return err
			}
		}
	case "anyOf":
		var all []error
		for _, one := range value.([]any) {
			err := validate(root, one.(map[string]any), document, at)
			if err == nil {
				return nil
			}
			all = append(all, err)
		}
		return errors.Join(all...)
	case "type":
		types, several := value.([]any)
		if !several {
			types = []any{value}
		}
		if !slices.ContainsFunc(types, func(name any) bool { return isOf(name.(string), document) }) {
			return wrong()
		}
	case "enum":
		if !slices.Contains(value.([]any), document) {
			return wrong()
		}
	case "const":
		if !reflect.DeepEqual(value, document) {
			return wrong()
		}
	case "pattern":
		if text, ok := document.(string); ok && !regexp.MustCompile(value.(string)).MatchString(text) {
			return wrong()
		}
	case "minimum":
		if isNumber && number < value.(float64) {
			return wrong()
		}
	case "maximum":
		if isNumber && number > value.(float64) {
			return wrong()
		}
	case "required":
		for _, name := range value.([]any) {
			if _, has := object[name.(string)]; isObject && !has {
				return wrong()
			}
		}
	case "items":
		for i, item := range array {
			if err := validate(root, value.(map[string]any), item, fmt.Sprintf("%s[%d]", at, i)); isArray && err != nil {
				return err
			}
		}
	case "properties":
		for name, one := range value.(map[string]any) {
			if item, has := object[name]; has {
				if err := validate(root, one.(map[string]any), item, join(at, name)); err != nil {
					return err
				}
			}
		}
	case "additionalProperties":
		known, _ := schema["properties"].(map[string]any)
		for name, item := range object {
			if _, has := known[name]; has {
				continue
			}
			others, allowed := value.(map[string]any)
			if !allowed {
				return fmt.Errorf("%s: there is no %s", at, name)
			}
			if err := validate(root, others, item, join(at, name)); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("the test does not know the keyword %s", keyword)
	}
	return nil
}

func numberOf(document any) (float64, bool) {
	switch n := document.(type) {
	case float64:
		return n, true
	case uint64:
		return float64(n), true
	case int64:
		return float64(n), true
	}
	return 0, false
}

func isOf(name string, document any) bool {
	number, isNumber := numberOf(document)
	switch name {
	case "object":
		_, ok := document.(map[string]any)
		return ok
	case "array":
		_, ok := document.([]any)
		return ok
	case "string":
		_, ok := document.(string)
		return ok
	case "boolean":
		_, ok := document.(bool)
		return ok
	case "number":
		return isNumber
	}
	return name == "integer" && isNumber && number == float64(int64(number))
}
