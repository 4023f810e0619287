//go:build unix

package file

import (
	"context"
	"path"
	"strings"

	"github.com/brineproject/brine/loader"
)

type pathArgs struct{ Path string }

// basename returns what follows the last slash of a path.
//
// CLI Example:
//
//	salt '*' file.basename 'test/test.config'
func (m *module) basename(_ context.Context, a pathArgs) (any, error) {
	return a.Path[strings.LastIndexByte(a.Path, '/')+1:], nil
}

// dirname returns what stands before the last slash of a path.
//
// CLI Example:
//
//	salt '*' file.dirname 'test/path/filename.config'
func (m *module) dirname(_ context.Context, a pathArgs) (any, error) {
	head := a.Path[:strings.LastIndexByte(a.Path, '/')+1]
	if short := strings.TrimRight(head, "/"); short != "" {
		return short, nil
	}
	return head, nil
}

type joinArgs struct {
	Args []any `args:"args"`
}

// join puts parts of a path together, with slashes between. A part that begins with a slash drops those before it.
//
// CLI Example:
//
//	salt '*' file.join '/' 'usr' 'local' 'bin'
func (m *module) join(_ context.Context, a joinArgs) (any, error) {
	if len(a.Args) == 0 {
		return nil, loader.TypeError("join() missing 1 required positional argument: 'a'")
	}
	joined := ""
	for i, v := range a.Args {
		part, ok := v.(string)
		switch {
		case !ok && i == 0:
			return nil, loader.TypeError("expected str, bytes or os.PathLike object, not %s", loader.TypeName(v))
		case !ok:
			return nil, loader.TypeError("join() argument must be str, bytes, or os.PathLike object, not '%s'", loader.TypeName(v))
		case strings.HasPrefix(part, "/"):
			joined = part
		case joined == "" || strings.HasSuffix(joined, "/"):
			joined += part
		default:
			joined += "/" + part
		}
	}
	return joined, nil
}

// normpath returns a path without double slashes and parts that are . or ..
//
// CLI Example:
//
//	salt '*' file.normpath 'a/b/c/..'
func (m *module) normpath(_ context.Context, a pathArgs) (any, error) {
	clean := path.Clean(a.Path)
	if strings.HasPrefix(a.Path, "//") && !strings.HasPrefix(a.Path, "///") {
		return "/" + clean, nil // two slashes have a meaning of their own in POSIX
	}
	return clean, nil
}

// pardir returns the name of the directory above: two dots.
//
// CLI Example:
//
//	salt '*' file.pardir
func (m *module) pardir(context.Context, loader.NoArgs) (any, error) { return "..", nil }
