package wire

// TagCount reads how many tagged fields follow.
func (r *Reader) TagCount() (int, bool) {
	v, ok := r.uvarint()
	switch {
	case !ok:
		return 0, false
	case v == 0:
		return 0, true
	case v > MaxTags:
		return 0, r.fail(r.off, tooLong{what: "struct", n: int(v), limit: MaxTags, unit: "tagged fields"})
	case int(v) > r.Left():
		return 0, r.fail(r.off, shortage{need: uint64(v), left: r.Left(), count: int(v)})
	case int(v) > r.elements:
		return 0, r.fail(r.off, tooLong{what: "frame", n: MaxElements - r.elements + int(v), limit: MaxElements, unit: "elements"})
	}
	r.elements -= int(v)
	return int(v), true
}

// Tag reads the number and the announced size of a tagged field. Kafka does
// not hold a tag it knows to that size, so neither does the generated code.
func (r *Reader) Tag() (tag uint32, size int, ok bool) {
	tag, ok = r.uvarint()
	if !ok {
		return 0, 0, false
	}
	n, ok := r.uvarint()
	return tag, int(n), ok
}

// UnknownTag keeps a tag that the schema does not know.
func (r *Reader) UnknownTag(dst *RawTags, tag uint32, size int) bool {
	b, ok := r.view(size)
	if !ok {
		return r.In("tag")
	}
	dst.Append(RawTag{Tag: tag, Data: b})
	return true
}

// NoTags reads the tag count of a struct if it is 0, as it is in most. Where it
// is not, nothing is read.
func (r *Reader) NoTags() bool {
	if r.off < len(r.buf) && r.buf[r.off] == 0 {
		r.off++
		return true
	}
	return false
}

// Tags reads the tagged fields of a struct whose schema has none.
func (r *Reader) Tags(dst *RawTags) bool {
	n, ok := r.TagCount()
	if !ok {
		return r.In("tags")
	}
	for ; n > 0; n-- {
		tag, size, ok := r.Tag()
		if !ok || !r.UnknownTag(dst, tag, size) {
			return r.In("tags")
		}
	}
	return true
}

// RefuseTag fails for a tag that only other versions define.
func (r *Reader) RefuseTag(tag uint32) bool {
	r.fail(r.off, refusedTag{tag})
	return r.In("tags")
}

// Present reads the marker byte of a nullable struct: negative is null.
func (r *Reader) Present() (present, ok bool) {
	b := r.Take(1)
	if b == nil {
		return false, r.fail(r.off, shortage{need: 1, left: 0})
	}
	return int8(b[0]) >= 0, true
}

// TagPresent reads the marker of a nullable struct in a tagged field: a varint
// that is 0 for null.
func (r *Reader) TagPresent() (present, ok bool) {
	v, ok := r.uvarint()
	return int32(v) > 0, ok
}
