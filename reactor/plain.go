package reactor

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// A Render converts the text of a file to a value. about holds additional template variables: tag
// and data of the event. It must be safe for concurrent use.
type Render func(ctx context.Context, path string, text []byte, about *data.Map) (value any, err error)

// Plain renders plain YAML. A file that needs a template engine is rejected with its line.
func Plain(_ context.Context, path string, text []byte, _ *data.Map) (any, error) {
	if line, ok := shebang(text); ok && line != "yaml" {
		return nil, fmt.Errorf("%s:1: the renderers %s are not there; only yaml is", path, line)
	}
	for _, mark := range []string{"{{", "{%", "{#"} {
		if i := bytes.Index(text, []byte(mark)); i >= 0 {
			return nil, fmt.Errorf("%s:%d: %s needs a template engine, which is not there", path,
				1+bytes.Count(text[:i], []byte("\n")), mark)
		}
	}
	return yaml.Load(text, yaml.Options{Name: path, Size: maxFile, Nodes: maxNodes})
}

// maxNodes is the maximum number of values in a file.
const maxNodes = 100_000

// shebang returns the renderers named in the first line of a file.
func shebang(text []byte) (renderers string, ok bool) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	rest, ok := strings.CutPrefix(string(line), "#!")
	return strings.TrimSpace(rest), ok
}
