package main

import (
	"fmt"
	"io"
)

// A better says which of two figures is the better one.
type better func(a, b float64) float64

func lower(a, b float64) float64  { return min(a, b) }
func higher(a, b float64) float64 { return max(a, b) }

// A figure is one result.
type figure struct {
	title string
	value float64
	best  better
}

// A report holds the best figures of each program.
type report struct {
	titles []string
	values map[string]map[string]float64 // by title and program
}

func newReport() *report { return &report{values: map[string]map[string]float64{}} }

// column returns a function that adds a figure of a program.
func (r *report) column(program string) func(figure) {
	return func(f figure) {
		known := r.values[f.title]
		if known == nil {
			known = map[string]float64{}
			r.values[f.title] = known
			r.titles = append(r.titles, f.title)
		}
		if old, ok := known[program]; ok {
			f.value = f.best(old, f.value)
		}
		known[program] = f.value
	}
}

// write prints a line for each figure. The ratio is that of Brine's to Salt's.
func (r *report) write(out io.Writer) {
	fmt.Fprintf(out, "%-52s %12s %12s %8s\n", "", "Salt", "Brine", "ratio")
	for _, title := range r.titles {
		salt, known := r.values[title]["Salt"]
		brine := r.values[title]["Brine"]
		if !known {
			fmt.Fprintf(out, "%-52s %12s %12.2f %8s\n", title, "", brine, "")
			continue
		}
		fmt.Fprintf(out, "%-52s %12.2f %12.2f %8.2f\n", title, salt, brine, brine/salt)
	}
}
