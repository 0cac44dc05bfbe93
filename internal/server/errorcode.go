package server

import (
	"reflect"
	"sync"

	"kafka-iggy-bridge/generated"
)

// errorPaths tells where the error codes of a struct type are: in fields named
// ErrorCode, at any depth.
type errorPaths struct {
	codes  []int // indexes of int16 fields named ErrorCode
	nested []nestedPath
}

// nestedPath leads through a field that holds structs with error codes.
type nestedPath struct {
	index int
	paths *errorPaths
}

// errorPathCache holds *errorPaths by reflect.Type: they are found once.
var errorPathCache sync.Map

// firstErrorCode returns the first error code other than 0 in an answer, in the
// order of its fields with the outer ones first, or 0.
func firstErrorCode(m generated.Message) int16 {
	v := reflect.ValueOf(m)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return 0
	}
	v = v.Elem()
	cached, ok := errorPathCache.Load(v.Type())
	if !ok {
		cached, _ = errorPathCache.LoadOrStore(v.Type(), findErrorPaths(v.Type()))
	}
	return cached.(*errorPaths).first(v)
}

func findErrorPaths(t reflect.Type) *errorPaths {
	p := &errorPaths{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "ErrorCode" && f.Type.Kind() == reflect.Int16 {
			p.codes = append(p.codes, i)
			continue
		}
		inner := f.Type
		if inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() != reflect.Struct {
			continue
		}
		if paths := findErrorPaths(inner); len(paths.codes)+len(paths.nested) > 0 {
			p.nested = append(p.nested, nestedPath{index: i, paths: paths})
		}
	}
	return p
}

func (p *errorPaths) first(v reflect.Value) int16 {
	for _, i := range p.codes {
		if code := v.Field(i).Int(); code != 0 {
			return int16(code)
		}
	}
	for _, n := range p.nested {
		if code := n.paths.firstNested(v.Field(n.index)); code != 0 {
			return code
		}
	}
	return 0
}

func (p *errorPaths) firstNested(f reflect.Value) int16 {
	switch f.Kind() {
	case reflect.Slice:
		for i := range f.Len() {
			if code := p.first(f.Index(i)); code != 0 {
				return code
			}
		}
		return 0
	case reflect.Pointer:
		if f.IsNil() {
			return 0
		}
		return p.first(f.Elem())
	}
	return p.first(f)
}
