package spec

import (
	"errors"
	"fmt"
	"slices"
)

// check finds what makes one file unusable: missing attributes, version
// ranges that contradict each other, tags out of order, names twice.
func (m *Message) check() error {
	if m.Name == "" {
		return fmt.Errorf("%s: no name", m.File)
	}
	types := []MessageType{Request, Response, Header, Data, CoordinatorKey, CoordinatorValue}
	if !slices.Contains(types, m.Type) {
		return m.errorf("", "unknown type %q", m.Type)
	}
	if (m.Type == Request || m.Type == Response) && m.APIKey == nil {
		return m.errorf("", "a %s needs an apiKey", m.Type)
	}
	if m.ValidVersions == nil {
		return m.errorf("", "no validVersions")
	}
	if m.ValidVersions.Empty() {
		if len(m.Fields) > 0 {
			return m.errorf("", "has fields, but no valid version")
		}
		return nil
	}
	if m.FlexibleVersions == nil {
		return m.errorf("", "no flexibleVersions")
	}
	if f := *m.FlexibleVersions; !f.Empty() && f.Max < m.ValidVersions.Max {
		return m.errorf("", "flexibleVersions %s ends before validVersions %s: a message never stops being flexible", f, m.ValidVersions)
	}
	return m.checkStructs()
}

func (m *Message) checkStructs() error {
	c := &checker{m: m, structs: map[string]bool{}, used: map[string]bool{}}
	for _, s := range m.CommonStructs {
		if s.Versions == nil {
			return m.errorf(s.Name, "common struct without versions")
		}
		if err := c.declare(s.Name, s.Name); err != nil {
			return err
		}
	}
	if err := c.fields("", m.Fields, *m.ValidVersions); err != nil {
		return err
	}
	for _, s := range m.CommonStructs {
		if err := c.fields(s.Name, s.Fields, *s.Versions); err != nil {
			return err
		}
	}
	for name := range c.used {
		if !c.structs[name] {
			return m.errorf("", "type %s is used, but defined nowhere in this message", name)
		}
	}
	return nil
}

type checker struct {
	m             *Message
	structs, used map[string]bool
}

func (c *checker) declare(path, name string) error {
	if c.structs[name] {
		return c.m.errorf(path, "struct %s is defined twice in this message", name)
	}
	c.structs[name] = true
	return nil
}

// fields checks the fields of one struct whose own versions are parent.
func (c *checker) fields(path string, fields []*Field, parent Versions) error {
	names := map[string]bool{}
	tags := map[int]bool{}
	for _, f := range fields {
		at := join(path, f.Name)
		if f.Name == "" {
			return c.m.errorf(path, "a field without a name")
		}
		if key := exported(f.Name); names[key] {
			return c.m.errorf(at, "two fields of one struct have this name")
		} else {
			names[key] = true
		}
		if err := c.field(at, f, parent); err != nil {
			return err
		}
		if f.Tag == nil {
			continue
		}
		if tags[*f.Tag] {
			return c.m.errorf(at, "tag %d is used twice", *f.Tag)
		}
		tags[*f.Tag] = true
	}
	for _, f := range fields {
		if f.Tag != nil && (*f.Tag < 0 || *f.Tag >= len(tags)) {
			return c.m.errorf(join(path, f.Name), "tag %d, but the struct has %d tags: they are numbered from 0 without gaps", *f.Tag, len(tags))
		}
	}
	return nil
}

func (c *checker) field(at string, f *Field, parent Versions) error {
	if f.Versions == nil {
		// Some specs give a tagged field its tagged versions only.
		if f.TaggedVersions == nil {
			return c.m.errorf(at, "no versions")
		}
		f.Versions = f.TaggedVersions
	}
	if f.Versions.Empty() {
		return c.m.errorf(at, "versions \"none\"")
	}
	if err := c.ranges(at, f, parent); err != nil {
		return err
	}
	elem, isArray := Elem(f.Type)
	if isArray && (elem == "" || elem[0] == '[') {
		return c.m.errorf(at, "type %s: arrays of arrays do not occur", f.Type)
	}
	if Primitive(elem) {
		if len(f.Fields) > 0 {
			return c.m.errorf(at, "type %s cannot have fields", f.Type)
		}
		if elem == "uint32" {
			return c.m.errorf(at, "type uint32 occurs in no spec and is not supported")
		}
		return nil
	}
	c.used[elem] = true
	if len(f.Fields) == 0 {
		return nil
	}
	if err := c.declare(at, elem); err != nil {
		return err
	}
	return c.fields(at, f.Fields, *f.Versions)
}

func (c *checker) ranges(at string, f *Field, parent Versions) error {
	valid := *c.m.ValidVersions
	// A field may claim versions below the message's (the message dropped
	// them), but none above its struct's.
	if parent.Max < f.Versions.Min {
		return c.m.errorf(at, "versions %s lie above the struct's %s", f.Versions, parent)
	}
	if n := f.NullableVersions; n != nil && !n.Empty() && n.Intersect(*f.Versions).Empty() {
		return c.m.errorf(at, "nullableVersions %s lie outside its versions %s", n, f.Versions)
	}
	if (f.Tag == nil) != (f.TaggedVersions == nil) {
		return c.m.errorf(at, "tag and taggedVersions go together")
	}
	if t := f.TaggedVersions; t != nil {
		if !f.Versions.Covers(t.Intersect(valid)) {
			return c.m.errorf(at, "taggedVersions %s reach outside its versions %s", t, f.Versions)
		}
		if !c.m.FlexibleVersions.Covers(t.Intersect(valid)) {
			return c.m.errorf(at, "taggedVersions %s reach outside flexibleVersions %s", t, c.m.FlexibleVersions)
		}
	}
	return nil
}

func (m *Message) errorf(field, format string, args ...any) error {
	place := m.File
	if field != "" {
		place += ": " + field
	}
	return errors.New(place + ": " + fmt.Sprintf(format, args...))
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// exported is a field's name as Go needs it: three names of Kafka's begin
// with a small letter.
func exported(name string) string {
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		return name
	}
	return string(name[0]-'a'+'A') + name[1:]
}

// Exported returns a spec's name with its first letter upper-cased.
func Exported(name string) string { return exported(name) }
