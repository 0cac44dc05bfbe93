package jsonform

import (
	"fmt"
	"reflect"

	"kafka-iggy-bridge/generated"
)

// freshField returns a field of a struct of parent's type at its default.
func freshField(parent reflect.Value, i int) reflect.Value {
	return Fresh(parent.Type()).Field(i)
}

// Fresh returns a struct of a generated type with its spec's defaults.
func Fresh(t reflect.Type) reflect.Value {
	make, ok := generated.Defaults[t]
	if !ok {
		panic(fmt.Sprintf("jsonform: %s is not a generated type", t))
	}
	return reflect.ValueOf(make())
}
