package wire

// BeginTag appends a tag's number and room for its size, and returns where its
// content begins.
func (w *Writer) BeginTag(tag uint32) int {
	w.Uvarint(tag)
	w.Extend(1)
	return w.off
}

// EndTag fills in the size of a tag's content. The room is for one byte, the
// size of all but rare tags; larger content is moved up.
func (w *Writer) EndTag(at int) {
	n := w.off - at
	if n < 0x80 {
		w.buf[at-1] = byte(n)
		return
	}
	size := uvarintSize(uint32(n))
	w.Extend(size - 1)
	copy(w.buf[at+size-1:w.off], w.buf[at:])
	end := w.off
	w.off = at - 1
	w.uvarintSlow(uint32(n))
	w.off = end
}

// TagsBelow appends the unknown tags with numbers below tag, which the schema
// defines, and returns the others.
func (w *Writer) TagsBelow(tags []RawTag, tag uint32) ([]RawTag, bool) {
	i := 0
	for i < len(tags) && tags[i].Tag < tag {
		i++
	}
	if !w.rawTags(tags[:i]) {
		return nil, false
	}
	if i < len(tags) && tags[i].Tag == tag {
		return nil, w.fail(-1, tagTaken{tag})
	}
	return tags[i:], i == len(tags) || i == 0 || tags[i].Tag > tags[i-1].Tag || w.fail(-1, tagOrder{tags[i].Tag, tags[i-1].Tag})
}

// Tags appends the tagged fields of a struct whose schema has none.
func (w *Writer) Tags(tags RawTags) bool {
	all := tags.All()
	w.Uvarint(uint32(len(all)))
	return w.RawTags(all, 0)
}

// RawTags appends unknown tags. None may be below min, which is one more than
// the highest tag that the schema defines; their numbers must rise.
func (w *Writer) RawTags(tags []RawTag, min uint32) bool {
	if len(tags) > 0 && tags[0].Tag < min {
		return w.fail(-1, tagTaken{tags[0].Tag})
	}
	return w.rawTags(tags)
}

func (w *Writer) rawTags(tags []RawTag) bool {
	for i, t := range tags {
		if i > 0 && t.Tag <= tags[i-1].Tag {
			return w.fail(-1, tagOrder{t.Tag, tags[i-1].Tag})
		}
		w.Uvarint(t.Tag)
		w.Uvarint(uint32(len(t.Data)))
		copy(w.Extend(len(t.Data)), t.Data)
	}
	return true
}

// ZeroTags appends the tag count of a struct without tags.
func (w *Writer) ZeroTags() bool {
	if w.off == len(w.buf) {
		w.grow(1)
	}
	w.buf[w.off] = 0
	w.off++
	return true
}

// NoTags fails where a version that is not flexible is given unknown tags.
func (w *Writer) NoTags(tags RawTags) bool {
	return tags.Len() == 0 || w.fail(-1, noTags{})
}

// Absent fails for a field that is set, but does not exist in this version.
func (w *Writer) Absent(field string) bool {
	w.fail(-1, absentField{})
	return w.In(field)
}

// Null fails for a field that is null where it must not be.
func (w *Writer) Null(field string) bool {
	w.fail(-1, notNullable{})
	return w.In(field)
}
