package config

import "strings"

// maxTypos is how far a key may be from a known one to be taken for a slip.
const maxTypos = 3

// suggest names the key that was probably meant, in the notation of its source,
// or nothing.
func suggest(name string, notation func(string) string) string {
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), ".", "_") }
	best, distance := "", maxTypos+1
	for _, k := range keys() {
		if d := editDistance(plain(name), plain(k.name)); d < distance {
			best, distance = k.name, d
		}
	}
	if best == "" {
		return "; docs/CONFIG.md lists the known ones"
	}
	return "; did you mean " + notation(best) + "?"
}

// editDistance is the least number of insertions, deletions and replacements of
// single bytes that make a out of b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
