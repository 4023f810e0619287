package gpg

import (
	"context"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/gpg"
	"github.com/brineproject/brine/loader"
)

// defaultServer is the default key server.
const defaultServer = "keys.openpgp.org"

func server(v any) (string, error) {
	if !data.Truth(v) {
		return defaultServer, nil
	}
	return data.Str(v), plain(data.Str(v))
}

type receiveArgs struct {
	Keyserver any `default:"None"`
	Keys      any `default:"None"`
	User      any `default:"None"`
	Gnupghome any `default:"None"`
}

// receiveKeys fetches keys from a key server and adds them to a keychain.
//
// keyserver
//
//	The server. Default: keys.openpgp.org.
//
// keys
//
//	Key IDs, as a list or separated by commas.
//
// user
//
//	The owner of the keychain. Default: the minion's user; salt means gpgkeys beside the minion's
//	configuration.
//
// gnupghome
//
//	The directory of the keychain.
//
// CLI Example:
//
//	salt '*' gpg.receive_keys keys='3FAD9F1E'
//	salt '*' gpg.receive_keys keys="['3FAD9F1E','3FBD9F2E']"
//	salt '*' gpg.receive_keys keys=3FAD9F1E user=username
func (m *module) receiveKeys(ctx context.Context, a receiveArgs) (any, error) {
	chain, err := m.open(ctx, a.User, a.Gnupghome)
	if err != nil {
		return nil, err
	}
	from, err := server(a.Keyserver)
	if err != nil {
		return nil, err
	}
	keys := data.SplitTexts(a.Keys, ",")
	if len(keys) == 0 {
		return nil, loader.Invocation("keys must be passed.")
	}
	r, err := chain.do(ctx, gpg.Call{Args: append([]string{"--keyserver", from, "--recv-keys",
		"--"}, keys...)})
	if err != nil {
		return nil, err
	}
	messages, came := []any{}, false
	for _, s := range r.Status {
		words := append(strings.Fields(s.Value), "", "")
		switch s.Keyword {
		case "IMPORT_OK":
			came = true
			switch words[0] {
			case "1":
				messages = append(messages, "Key "+words[1]+" added to keychain")
			case "0":
				messages = append(messages, "Key "+words[1]+" already exists in keychain")
			}
		case "IMPORT_PROBLEM", "NODATA", "KEYEXPIRED", "SIGEXPIRED":
			messages = append(messages, "Unable to add key to keychain")
		}
	}
	ok := came || r.Code == 0
	if !ok {
		m.env.Log.Error(r.Stderr)
		if len(messages) == 0 {
			messages = []any{"Unable to add key to keychain"}
		}
	}
	return data.NewMap("res", ok, "changes", &data.Map{}, "message", messages), nil
}

type searchArgs struct {
	Text      any
	Keyserver any `default:"None"`
	User      any `default:"None"`
}

var hexadecimal = regexp.MustCompile(`^[0-9a-fA-F]+$`)

// searchKeys searches a key server and returns the keys found.
//
// text
//
//	The search text, such as an address, an ID or a fingerprint.
//
// keyserver
//
//	The server. Default: keys.openpgp.org.
//
// user
//
//	The owner of the keychain to use. Default: the minion's user; salt means gpgkeys beside the
//	minion's configuration.
//
// CLI Example:
//
//	salt '*' gpg.search_keys user@example.com
//	salt '*' gpg.search_keys user@example.com keyserver=keyserver.ubuntu.com
//	salt '*' gpg.search_keys user@example.com keyserver=keyserver.ubuntu.com user=username
func (m *module) searchKeys(ctx context.Context, a searchArgs) (any, error) {
	chain, err := m.open(ctx, a.User, nil)
	if err != nil {
		return nil, err
	}
	from, err := server(a.Keyserver)
	if err != nil {
		return nil, err
	}
	query := strings.TrimSpace(data.Str(a.Text))
	if hexadecimal.MatchString(query) {
		query = "0x" + query
	}
	r, err := chain.do(ctx, gpg.Call{Args: []string{"--fingerprint", "--keyserver", from,
		"--search-keys", "--", query}})
	if err != nil {
		return nil, err
	}
	return results(parse(r.Output, func(f []string) *key {
		return &key{id: f[1], length: f[3], created: f[4], expires: f[5], uids: []any{}}
	}, 1), false), nil
}
