package spec

// StripComments returns src with its // comments blanked out, so that offsets
// stay as they are. A // inside a JSON string is no comment.
func StripComments(src []byte) []byte {
	out := make([]byte, len(src))
	copy(out, src)
	inString := false
	for i := 0; i < len(out); i++ {
		switch {
		case inString && out[i] == '\\':
			i++
		case out[i] == '"':
			inString = !inString
		case !inString && out[i] == '/' && i+1 < len(out) && out[i+1] == '/':
			for i < len(out) && out[i] != '\n' {
				out[i] = ' '
				i++
			}
		}
	}
	return out
}
