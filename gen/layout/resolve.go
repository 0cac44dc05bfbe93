package layout

import (
	"fmt"
	"slices"
	"strings"
)

// resolve returns the layout of a struct in one version, the same object for
// every version in which the bytes have the same order.
func (b *builder) resolve(s *Struct, version int16) *Layout {
	l := &Layout{Struct: s, First: version, Versions: []int16{version}, Flexible: b.msg.Flexible.Contains(version)}
	s.Flexible = s.Flexible || l.Flexible
	for _, f := range s.Fields {
		if !f.Versions.Contains(version) {
			l.Absent = append(l.Absent, f)
			if f.Tag >= 0 && l.Flexible {
				l.Refused = append(l.Refused, f.Tag)
			}
			continue
		}
		slot := Slot{Field: f, Nullable: f.Nullable.Contains(version), Compact: l.Flexible && !f.Fixed}
		if f.Struct != nil {
			slot.Sub = b.resolve(f.Struct, version)
		}
		if f.Tagged.Contains(version) {
			l.Tags = append(l.Tags, slot)
		} else {
			l.Slots = append(l.Slots, slot)
		}
	}
	slices.SortFunc(l.Tags, func(a, b Slot) int { return a.Field.Tag - b.Field.Tag })
	l.MinSize = l.minSize()
	l.signature = l.sign()
	for _, known := range s.Layouts {
		if known.signature == l.signature {
			if last := known.Versions[len(known.Versions)-1]; last != version {
				known.Versions = append(known.Versions, version)
			}
			return known
		}
	}
	s.Layouts = append(s.Layouts, l)
	return l
}

func (l *Layout) minSize() int {
	n := 0
	for _, s := range l.Slots {
		n += s.minSize()
	}
	if l.Flexible {
		n++
	}
	return n
}

func (s Slot) minSize() int {
	f := s.Field
	switch {
	case f.Kind == StructKind && !f.Array && s.Nullable:
		return 1
	case f.Kind == StructKind && !f.Array:
		return s.Sub.MinSize
	case !f.Array && f.Kind.FixedSize() > 0:
		return f.Kind.FixedSize()
	case s.Compact:
		return 1
	case !f.Array && f.Kind == String:
		return 2
	default:
		return 4
	}
}

// ElemMinSize is the smallest number of bytes that one element of an array
// slot takes; at least 1, as counts are divided by it.
func (s Slot) ElemMinSize() int {
	switch f := s.Field; {
	case f.Kind == StructKind:
		return max(1, s.Sub.MinSize)
	case f.Kind.FixedSize() > 0:
		return f.Kind.FixedSize()
	case s.Compact:
		return 1
	default:
		return 2
	}
}

// sign spells out everything that the generated functions depend on.
func (l *Layout) sign() string {
	var b strings.Builder
	fmt.Fprintf(&b, "flexible=%t", l.Flexible)
	for _, s := range slices.Concat(l.Slots, l.Tags) {
		fmt.Fprintf(&b, " %s,%t,%t", s.Field.Name, s.Nullable, s.Compact)
		if s.Sub != nil {
			fmt.Fprintf(&b, ",%d", s.Sub.First)
		}
		if s.Field.Tagged.Contains(l.First) {
			fmt.Fprintf(&b, ",tag%d", s.Field.Tag)
		}
	}
	fmt.Fprintf(&b, " refused=%v", l.Refused)
	return b.String()
}
