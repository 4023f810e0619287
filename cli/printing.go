package cli

import (
	"fmt"
	"os"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/output"
)

// Printing returns the outputter options for a configuration with the command line merged in:
// color, force_color, no_color, color_theme, output_indent, strip_colors, nested_indent. terminal
// reports whether standard output is a terminal. An error reports an unreadable theme; the options
// then have the default colours.
func Printing(config *data.Map, terminal bool) (output.Options, error) {
	o := output.Options{
		Colour: output.UseColour(config.Value("color"), data.Truth(config.Value("force_color")),
			data.Truth(config.Value("no_color")), terminal),
		Indent:       any(output.NoIndent{}),
		KeepEscapes:  config.Has("strip_colors") && !data.Truth(config.Value("strip_colors")),
		NestedIndent: int(floatOf(config.Value("nested_indent"))),
		State:        stateOutput(config),
		Table:        tableStyle(config),
	}
	if v, ok := config.Get("output_indent"); ok {
		o.Indent = v
	}
	theme := config.Text("color_theme")
	if theme == "" || !o.Colour {
		return o, nil
	}
	var err error
	if o.Theme, err = readConfigFile(theme); err != nil {
		return o, fmt.Errorf("read colour theme: %w", err)
	}
	return o, nil
}

// tableStyle returns the options out.table.NAME.
func tableStyle(config *data.Map) output.TableStyle {
	of := func(name string) any { return config.Value("out.table." + name) }
	return output.TableStyle{
		HasHeader: of("has_header"), RowDelimiter: of("row_delimiter"), Delim: of("delim"),
		Justify: of("justify"), SeparateRows: of("separate_rows"), Prefix: of("prefix"),
		Suffix: of("suffix"), Width: of("width"), NestedIndent: of("nested_indent"),
		RowsKey: of("rows_key"), LabelsKey: of("labels_key"),
		Title: of("title"),
	}
}

// stateOutput returns how state runs are printed. Options missing in config have Salt's defaults.
func stateOutput(config *data.Map) output.StateOptions {
	on := func(option string) bool { return !config.Has(option) || data.Truth(config.Value(option)) }
	return output.StateOptions{
		Mode: config.Text("state_output"), Verbose: on("state_verbose"),
		Profile: on("state_output_profile"), Diff: data.Truth(config.Value("state_output_diff")),
		Percent:     data.Truth(config.Value("state_output_pct")),
		CompressIDs: data.Truth(config.Value("state_compress_ids")),
		Tabular:     data.Truth(config.Value("state_tabular")),
		Exclude:     filterOf(config, "exclude"), Terse: filterOf(config, "terse"),
	}
}

// filterOf returns which results state_output: filter leaves out or shortens, from the function's
// argument or else from the option.
func filterOf(config *data.Map, word string) any {
	args, _ := config.Value("arg").([]any)
	for i := len(args) - 1; i >= 0; i-- {
		if words, ok := args[i].(*data.Map); ok && words.Has("__kwarg__") {
			if v, ok := words.Get(word); ok {
				return v
			}
			break
		}
	}
	return config.Value("state_output_" + word)
}

// EmptyOutputFile empties an existing file of --out-file unless --out-file-append is given, and
// keeps its mode. Results are then appended to it. The error is an *Exit.
func (l *Line) EmptyOutputFile() error {
	path := l.text("output_file")
	if path == "" || data.Truth(l.Value("output_file_append")) || !paths.IsFile(l.in.path(path)) {
		return nil
	}
	if err := os.Truncate(l.in.path(path), 0); err != nil {
		return l.fail("%s: Access denied: %s", path, err)
	}
	return nil
}
