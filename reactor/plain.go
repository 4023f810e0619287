package reactor

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// A Render makes a value of the text of a file. about holds what templates know besides: tag and data of the event. It is
// called by several goroutines.
type Render func(ctx context.Context, path string, text []byte, about *data.Map) (value any, err error)

// Plain renders files that are YAML alone. One that needs a template engine is refused, with its line.
func Plain(_ context.Context, path string, text []byte, _ *data.Map) (any, error) {
	if line, ok := shebang(text); ok && line != "yaml" {
		return nil, fmt.Errorf("%s:1: the renderers %s are not there; only yaml is", path, line)
	}
	for _, mark := range []string{"{{", "{%", "{#"} {
		if i := bytes.Index(text, []byte(mark)); i >= 0 {
			return nil, fmt.Errorf("%s:%d: %s needs a template engine, which is not there", path, 1+bytes.Count(text[:i], []byte("\n")), mark)
		}
	}
	return yaml.Load(text, yaml.Options{Name: path, Size: maxFile, Nodes: maxNodes})
}

// maxNodes bounds the values in a file.
const maxNodes = 100_000

// shebang returns the renderers that the first line of a file names.
func shebang(text []byte) (renderers string, ok bool) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	rest, ok := strings.CutPrefix(string(line), "#!")
	return strings.TrimSpace(rest), ok
}
