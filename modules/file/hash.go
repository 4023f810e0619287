package file

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// hashTypes returns the hash types, in Salt's order.
func hashTypes() []string { return []string{"sha512", "sha384", "sha256", "sha224", "sha1", "md5"} }

// hashLen returns the number of digits of a hash type, or 0 if it is unknown.
func hashLen(kind string) int {
	if !slices.Contains(hashTypes(), kind) {
		return 0
	}
	h, err := crypto.NewHash(kind)
	if err != nil {
		return 0
	}
	return 2 * h.Size()
}

// hashTypeOf returns the hash type with this number of digits, or "".
func hashTypeOf(digits int) string {
	for _, kind := range hashTypes() {
		if hashLen(kind) == digits {
			return kind
		}
	}
	return ""
}

// hashList lists the hash types and their lengths.
func hashList() string {
	var list []string
	for _, kind := range slices.Backward(hashTypes()) {
		list = append(list, fmt.Sprintf("%s (%d)", kind, hashLen(kind)))
	}
	return strings.Join(list, ", ")
}

// validProtos returns the URL schemes of sources (salt/utils/files.py, VALID_PROTOS).
func validProtos() []string {
	return []string{"salt", "file", "http", "https", "ftp", "swift", "s3"}
}

type checkHashArgs struct {
	Path     string
	FileHash any
}

// checkHash reports whether a file has a hash: TYPE:HASH, TYPE=HASH, or the hash alone, whose
// length determines the type.
//
// CLI Example:
//
//	salt '*' file.check_hash /etc/fstab md5:<md5sum>
func checkHash(_ context.Context, a checkHashArgs) (any, error) {
	text, ok := a.FileHash.(string)
	if !ok {
		return nil, loader.Invocation("hash must be a string")
	}
	kind, value := "", text
	if i := strings.IndexByte(text, ':'); i >= 0 {
		kind, value = text[:i], text[i+1:]
	} else if i := strings.IndexByte(text, '='); i >= 0 {
		kind, value = text[:i], text[i+1:]
	} else if kind = hashTypeOf(len(text)); kind == "" {
		return nil, loader.Invocation("Hash %s (length: %d) could not be matched to a supported hash type. "+
			"The supported hash types and lengths are: %s", text, len(text), hashList())
	}
	sum, err := hashFile(home(a.Path), kind)
	return sum == value, err
}

type sourceSumArgs struct {
	FileName       any  `default:"''"`
	Source         any  `default:"''"`
	SourceHash     any  `default:"None"`
	SourceHashName any  `default:"None"`
	Saltenv        any  `default:"'base'"`
	VerifySSL      bool `name:"verify_ssl" default:"True"`
}

// getSourceSum resolves a source_hash and returns a dictionary with hash_type and hsum. A
// source_hash is a hash, TYPE=HASH, or the path or URL of a file of hashes that lists the file.
//
// file_name, source
//
//	The names of the file, to find its line.
//
// source_hash_name : None
//
//	A name to look for first.
//
// verify_ssl : True
//
//	Verify the certificate of the server.
//
// CLI Example:
//
//	salt '*' file.get_source_sum /tmp/foo.tar.gz source=http://mydomain.tld/foo.tar.gz source_hash=499ae16dcae71eeb7c3a30c75ea7a1a6
func (m hashes) getSourceSum(ctx context.Context, a sourceSumArgs) (*data.Map, error) {
	text, ok := a.SourceHash.(string)
	if !ok {
		return nil, badSourceHash(a.SourceHash)
	}
	list, err := m.listFile(ctx, text, a)
	switch {
	case err != nil:
		return nil, err
	case list == "":
		return literalSum(text)
	}
	sum, err := extractHash(ctx, extractArgs{HashFn: list, HashType: "", FileName: a.FileName,
		Source:         a.Source,
		SourceHashName: a.SourceHashName})
	switch {
	case err != nil:
		return nil, err
	case sum == nil:
		return nil, badSourceHash(text)
	}
	sum.Set("hsum", strings.ToLower(sum.Text("hsum")))
	return sum, nil
}

// listFile returns the path of the file of hashes that a source_hash names, or "" if it names none.
func (m hashes) listFile(ctx context.Context, text string, a sourceSumArgs) (string, error) {
	if filepath.IsAbs(text) {
		return text, nil
	}
	scheme := fileclient.Scheme(text)
	switch {
	case scheme == "":
		return "", nil
	case !slices.Contains(validProtos(), scheme):
		return "", badSourceHash(text)
	}
	path, err := calls.CacheFile(ctx, m.env, calls.Source{
		Path: text, SaltEnv: a.Saltenv, NoVerify: !a.VerifySSL,
	})
	if err == nil && path == "" {
		err = loader.Execution("Source hash file %s not found", text)
	}
	return path, err
}

// literalSum parses a hash, or TYPE=HASH.
func literalSum(text string) (*data.Map, error) {
	kind, sum, ok := strings.Cut(text, "=")
	if !ok {
		sum, kind = text, hashTypeOf(len(text))
		if kind == "" || strings.Trim(strings.ToLower(text), "0123456789abcdef") != "" {
			return nil, badSourceHash(text)
		}
	}
	kind, sum = strings.TrimSpace(kind), strings.TrimSpace(sum)
	switch want := hashLen(kind); {
	case want == 0:
		return nil, loader.Execution("Invalid hash type '%s'. Supported hash types are: %s. "+
			"Either remove the hash type and simply use '%s' as the source_hash, or change the hash type to a supported type.",
			kind, strings.Join(hashTypes(), ", "), sum)
	case hashTypeOf(len(sum)) == "":
		return nil, badSourceHash(text)
	case want != len(sum):
		return nil, loader.Execution("Invalid length (%d) for hash type '%s'. "+
			"Either remove the hash type and simply use '%s' as the source_hash, or change the hash type to '%s'",
			len(sum), kind, sum, hashTypeOf(len(sum)))
	}
	return data.NewMap("hash_type", kind, "hsum", strings.ToLower(sum)), nil
}

func badSourceHash(v any) error {
	return loader.Execution("Source hash %s format is invalid. The supported formats are: 1) a "+
		"hash, 2) an expression in the format <hash_type>=<hash>, or 3) either a path to a local "+
		"file containing hashes, or a URI of a remote hash file. Supported protocols for remote "+
		"hash files are: %s. The hash may also not be of a valid length, the following are "+
		"supported hash types and lengths: %s.",
		data.Str(v), strings.Join(validProtos(), ", "), hashList())
}

type extractArgs struct {
	HashFn         string
	HashType       any `default:"'sha256'"`
	FileName       any `default:"''"`
	Source         any `default:"''"`
	SourceHashName any `default:"None"`
}

// extractHash returns the hash of a file from a file of hashes, as a dictionary with hsum and
// hash_type. It takes the line that ends or begins with source_hash_name, or else with file_name,
// or else with source, or else the first line with a hash. The result is None if there is none.
//
// CLI Example:
//
//	salt '*' file.extract_hash /path/to/hash/file sha512 /etc/foo
func extractHash(_ context.Context, a extractArgs) (*data.Map, error) {
	f, err := open(a.HashFn)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	digits := "{32,128}"
	if n := hashLen(data.Str(a.HashType)); n > 0 {
		digits = fmt.Sprintf("{%d}", n)
	}
	form := regexp.MustCompile("(?i)(?:^|[^a-z0-9])([a-f0-9]" + digits + ")(?:$|[^a-z0-9])")
	names := hashNames(a)
	found := make([]*data.Map, len(names)+1)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		hit := form.FindStringSubmatch(line)
		if hit == nil || hashTypeOf(len(hit[1])) == "" {
			continue
		}
		sum := data.NewMap("hsum", hit[1], "hash_type", hashTypeOf(len(hit[1])))
		for i, name := range names {
			if found[i] == nil && name.in(line) {
				found[i] = sum
			}
		}
		if found[len(names)] == nil {
			found[len(names)] = sum
		}
	}
	if i := slices.IndexFunc(found, func(m *data.Map) bool { return m != nil }); i >= 0 {
		return found[i], nil
	}
	return nil, lines.Err()
}

// hashSeparators are the characters that may precede a file name.
const hashSeparators = " \t\n\r\v\f\\/*"

// A hashName is a name to find in lines of hashes.
type hashName struct{ full, last, before string }

func (n hashName) in(line string) bool {
	if rest, ok := strings.CutSuffix(line, n.last); ok {
		return rest != "" && strings.ContainsAny(rest[len(rest)-1:], n.before)
	}
	rest, ok := strings.CutPrefix(line, n.full)
	return ok && rest != "" && strings.ContainsAny(rest[:1], " \t\n\r\v\f")
}

func hashNames(a extractArgs) []hashName {
	var names []hashName
	if data.Truth(a.SourceHashName) {
		name := data.Str(a.SourceHashName)
		names = append(names, hashName{name, name, " \t\n\r\v\f"})
	}
	if data.Truth(a.FileName) {
		name := data.Str(a.FileName)
		names = append(names, hashName{name, name[strings.LastIndexByte(name, '/')+1:],
			hashSeparators})
	}
	if data.Truth(a.Source) {
		name := data.Str(a.Source)
		last := name
		if u, err := url.Parse(name); err == nil && u.Path != "" {
			last = u.Path
		} else if err == nil && u.Host != "" {
			last = u.Host
		}
		names = append(names, hashName{name, path.Base(last), hashSeparators})
	}
	return names
}
