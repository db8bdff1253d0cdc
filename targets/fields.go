package targets

import (
	"reflect"
	"slices"
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
// inlined structs among them. Two fields may have the same name, for two forms
// of its value.
func eachField(t reflect.Type, visit func(name string, field reflect.StructField, index []int)) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			eachField(field.Type, func(name string, field reflect.StructField, index []int) {
				visit(name, field, append([]int{i}, index...))
			})
		case name != "" && name != "-":
			visit(name, field, []int{i})
		}
	}
}

func fieldNames(t reflect.Type) []string {
	var names []string
	eachField(t, func(name string, _ reflect.StructField, _ []int) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	})
	return names
}

func fieldsByName(v reflect.Value, name string) []reflect.Value {
	var found []reflect.Value
	eachField(v.Type(), func(n string, _ reflect.StructField, index []int) {
		if n == name {
			found = append(found, v.FieldByIndex(index))
		}
	})
	return found
}
