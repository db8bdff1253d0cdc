package targets

import (
	"reflect"
	"strings"
)

func kindName(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	}
	return "a text"
}

func join(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

// eachField visits the fields of a struct that a manifest can name, those of
// inlined structs among them.
func eachField(t reflect.Type, visit func(name string, index []int)) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			eachField(field.Type, func(name string, index []int) { visit(name, append([]int{i}, index...)) })
		case name != "" && name != "-":
			visit(name, []int{i})
		}
	}
}

func fieldNames(t reflect.Type) []string {
	var names []string
	eachField(t, func(name string, _ []int) { names = append(names, name) })
	return names
}

func fieldByName(v reflect.Value, name string) (reflect.Value, bool) {
	var found []int
	eachField(v.Type(), func(n string, index []int) {
		if n == name {
			found = index
		}
	})
	if found == nil {
		return reflect.Value{}, false
	}
	return v.FieldByIndex(found), true
}
