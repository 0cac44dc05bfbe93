package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// table prints a table in Markdown; the first column is text.
func table(head []string, rows ...[]string) {
	marks := slices.Repeat([]string{"---:"}, len(head))
	marks[0] = "---"
	fmt.Println()
	for _, row := range append([][]string{head, marks}, rows...) {
		fmt.Println("| " + strings.Join(row, " | ") + " |")
	}
}

// quantile is the value that the part q of the values does not exceed.
func quantile[T int64 | float64 | time.Duration](values []T, q float64) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1e3) }

// sizes is a flag with several numbers.
type sizes []int

func (s *sizes) String() string { return strings.Trim(fmt.Sprint(*s), "[]") }

func (s *sizes) Set(text string) error {
	*s = nil
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is no size", part)
		}
		*s = append(*s, n)
	}
	return nil
}
