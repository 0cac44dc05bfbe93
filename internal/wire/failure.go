package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// Error says why a message could not be decoded or encoded, and where.
type Error struct {
	// Message and Version name what was decoded or encoded.
	Message string
	Version int16
	// Path leads to the field, such as "Topics[3].Partitions"; "" where the
	// message as a whole is at fault.
	Path string
	// Offset is the position in the frame; -1 when encoding.
	Offset int
	// Reason is what is wrong there.
	Reason error
}

// Error gives message, version, path, reason and offset.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s v%d: ", e.Message, e.Version)
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Reason.Error())
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " (at byte %d)", e.Offset)
	}
	return b.String()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Reason }

// UnsupportedVersion is the error for a version that a message does not have.
func UnsupportedVersion(s *Schema, version int16) error {
	return &Error{Message: s.Name, Version: version, Offset: -1,
		Reason: fmt.Errorf("no such version; valid are %d to %d", s.Min, s.Max)}
}

// failure is the first thing that went wrong and the path to it, collected
// from the inside out.
type failure struct {
	reason error
	offset int
	path   []string
}

func (f *failure) fail(offset int, reason error) bool {
	if f.reason == nil {
		f.reason, f.offset = reason, offset
	}
	return false
}

// In adds the field that the failure lies in. It returns false, so that
// generated code can pass it on.
func (f *failure) In(field string) bool {
	f.path = append(f.path, field)
	return false
}

// InIndex adds an array field and the element that the failure lies in.
func (f *failure) InIndex(field string, i int) bool {
	f.path = append(f.path, field+"["+strconv.Itoa(i)+"]")
	return false
}

// at adds an index; the field's name follows from the caller.
func (f *failure) at(i int) bool {
	f.path = append(f.path, "["+strconv.Itoa(i)+"]")
	return false
}

// Err returns the failure as an error of the message.
func (f *failure) Err(s *Schema, version int16) error {
	return &Error{Message: s.Name, Version: version, Path: f.pathString(), Offset: f.offset, Reason: f.reason}
}

func (f *failure) pathString() string {
	var b strings.Builder
	for i := len(f.path) - 1; i >= 0; i-- {
		if b.Len() > 0 && f.path[i][0] != '[' {
			b.WriteByte('.')
		}
		b.WriteString(f.path[i])
	}
	return b.String()
}

// shortage: something needs more bytes than are left.
type shortage struct {
	need   uint64
	left   int
	count  int
	length bool
}

func (s shortage) Error() string {
	switch {
	case s.count > 0:
		return fmt.Sprintf("length %d exceeds %d bytes left", s.count, s.left)
	case s.length:
		return fmt.Sprintf("length %d exceeds %d bytes left", s.need, s.left)
	default:
		return fmt.Sprintf("needs %d bytes, %d left", s.need, s.left)
	}
}

type tooLong struct {
	what, unit string
	n, limit   int
}

func (t tooLong) Error() string {
	return fmt.Sprintf("%s of %d %s; at most %d are allowed", t.what, t.n, t.unit, t.limit)
}

type notNullable struct{}

func (notNullable) Error() string { return "null, but not nullable in this version" }

type truncatedVarint struct{}

func (truncatedVarint) Error() string { return "ends inside a varint" }

type longVarint struct{}

func (longVarint) Error() string { return "varint of more than 5 bytes" }

type refusedTag struct{ tag uint32 }

func (t refusedTag) Error() string { return fmt.Sprintf("tag %d is not valid in this version", t.tag) }

type absentField struct{}

func (absentField) Error() string { return "is set, but does not exist in this version" }

type tagOrder struct{ tag, after uint32 }

func (t tagOrder) Error() string {
	return fmt.Sprintf("unknown tag %d comes after tag %d, but must be higher", t.tag, t.after)
}

type tagTaken struct{ tag uint32 }

func (t tagTaken) Error() string {
	return fmt.Sprintf("unknown tag %d is a tag that the schema defines", t.tag)
}

type noTags struct{}

func (noTags) Error() string { return "unknown tags in a version that is not flexible" }
