package console

import (
	"slices"
	"strconv"

	"github.com/brineproject/brine/loader"
)

// count returns a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return digits(n) + " " + noun + "s"
}

// digits returns a number with commas between thousands.
func digits(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// number returns a number in an answer of the master; 0 for anything else.
func number(v any) int {
	n, err := loader.Int(v)
	if err != nil {
		return 0
	}
	return int(n)
}

// pageAfter returns the first texts of a sorted list that are greater than after, and whether there are
// more.
func pageAfter(list []string, after string, most int) (page []string, more bool) {
	at, found := slices.BinarySearch(list, after)
	if found {
		at++
	}
	rest := list[at:]
	return rest[:min(len(rest), most)], len(rest) > most
}
