package gitfs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/gitfs/mirror"
)

// Types of options.
type kind string

const (
	text    kind = "a text"
	flag    kind = "True or False"
	list    kind = "a list of texts"
	number  kind = "a number"
	envsMap kind = "a list of environments"
)

// perRemote are the options of a remote. Those not in onlyRemote also exist with the prefix gitfs_,
// for all remotes.
var perRemote = map[string]kind{
	"base": text, "fallback": text, "mountpoint": text, "root": text, "ssl_verify": flag,
	"saltenv_whitelist": list, "saltenv_blacklist": list,
	"refspecs": list, "disable_saltenv_mapping": flag, "ref_types": list, "update_interval": number,
	"proxy": text, "user": text, "password": text, "pubkey": text, "privkey": text,
	"passphrase": text, "insecure_auth": flag, "all_saltenvs": text, "name": text,
	"saltenv": envsMap,
}

var onlyRemote = []string{"all_saltenvs", "name"}

// conf is the checked options of one remote: string, bool, []string, int64, map[string]envConf.
type conf map[string]any

func (c conf) text(name string) string   { s, _ := c[name].(string); return s }
func (c conf) flag(name string) bool     { v, _ := c[name].(bool); return v }
func (c conf) list(name string) []string { v, _ := c[name].([]string); return v }
func (c conf) envs() map[string]envConf  { v, _ := c["saltenv"].(map[string]envConf); return v }
func (c conf) interval() (d time.Duration) {
	n, _ := c["update_interval"].(int64)
	return time.Duration(max(0, min(n, 1e9))) * time.Second
}

// readRemotes reads gitfs_remotes. The error names the invalid option, and the remote without its
// password.
func readRemotes(opts *data.Map, root string, log logrus.FieldLogger) ([]*remote, error) {
	raw := opts.Value("gitfs_remotes")
	entries, ok := raw.([]any)
	if !ok && raw != nil {
		return nil, errors.New("gitfs_remotes is not a list")
	}
	if p := strings.ToLower(data.Str(opts.Value("gitfs_provider"))); data.Truth(opts.Value("gitfs_provider")) && p != "pygit2" && p != "gitpython" {
		return nil, fmt.Errorf("Invalid gitfs_provider '%s'. Valid choices are: pygit2, gitpython", p) //nolint:staticcheck // Salt's text
	}
	all, err := common(opts)
	if err != nil {
		return nil, err
	}
	var remotes []*remote
	for i, e := range entries {
		r, err := readRemote(e, all, root, func(option string) {
			log.Warnf("gitfs_remotes: unknown option %.60q of a remote ignored", option)
		})
		if err != nil {
			return nil, fmt.Errorf("remote %d of gitfs_remotes: %w", i+1, err)
		}
		remotes = append(remotes, r)
	}
	return remotes, nil
}

// common reads the options that apply to all remotes.
func common(opts *data.Map) (conf, error) {
	all := conf{}
	for name, k := range perRemote {
		v, set := opts.Get("gitfs_" + name)
		if !set || slices.Contains(onlyRemote, name) {
			continue
		}
		checked, err := k.check(v)
		if err != nil {
			return nil, fmt.Errorf("gitfs_%s %w", name, err)
		}
		all[name] = checked
	}
	return all, nil
}

// Check returns the errors in gitfs_remotes as findings of package config. An unknown option of a
// remote is only a doubt.
func Check(opts *data.Map) error {
	all, err := common(opts)
	if err != nil {
		return err
	}
	entries, _ := opts.Value("gitfs_remotes").([]any)
	var errs []error
	for i, e := range entries {
		errs = append(errs, config.Below(config.Entry{Index: i, Value: e}, checkRemote(e, all)))
	}
	return errors.Join(errs...)
}

func checkRemote(e any, all conf) error {
	var errs []error
	known := slices.Sorted(maps.Keys(perRemote))
	_, err := readRemote(e, all, "", func(option string) {
		errs = append(errs, config.Doubt(config.NoSuch("option of a remote", option, known, nil)))
	})
	if err != nil {
		errs = append(errs, &config.Finding{Text: err.Error(),
			Suggestion: "write - URL, or - URL: with a line - OPTION: VALUE for each option, indented, below it"})
	}
	return errors.Join(errs...)
}

// readRemote reads an address, or an address with its own options. It calls strange for unknown
// options and leaves them out.
func readRemote(e any, all conf, root string, strange func(option string)) (*remote, error) {
	c := conf{}
	for k, v := range all {
		if k != "saltenv" {
			c[k] = v
		}
	}
	url, ok := e.(string)
	if m, own := e.(*data.Map); own && m.Len() == 1 {
		for k, v := range m.All() {
			url, ok = k.(string)
			if err := c.take(v, strange); err != nil {
				return nil, err
			}
		}
	}
	if !ok {
		return nil, errors.New("it is neither an address nor an address with a list of options")
	}
	return newRemote(url, c, all.envs(), root)
}

// take reads the options of a remote, given as a dictionary or as a list of dictionaries.
func (c conf) take(v any, strange func(option string)) error {
	own, err := repack(v)
	if err != nil {
		return err
	}
	if own.Len() == 0 {
		return errors.New("the address is followed by a colon but no option")
	}
	for k, v := range own.All() {
		name := data.Str(k)
		kind, ok := perRemote[name]
		if !ok {
			strange(name)
			continue
		}
		checked, err := kind.check(v)
		if err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
		c[name] = checked
	}
	return nil
}

// repack merges a list of dictionaries into one (salt/utils/data.py, repack_dictlist).
func repack(v any) (*data.Map, error) {
	switch v := v.(type) {
	case *data.Map:
		return v, nil
	case nil:
		return &data.Map{}, nil
	case []any:
		m := &data.Map{}
		for _, e := range v {
			one, ok := e.(*data.Map)
			if !ok {
				return nil, errors.New("has an invalid entry in its list of options")
			}
			for k, v := range one.All() {
				m.Set(k, v)
			}
		}
		return m, nil
	}
	return nil, errors.New("has options that are not a list")
}

// check converts the value of an option to its type in conf (salt/utils/gitfs.py, enforce_types,
// which converts more). The error does not show the value.
func (k kind) check(v any) (any, error) {
	wrong := fmt.Errorf("is not %s", k)
	switch k {
	case text:
		switch v.(type) {
		case nil:
			return "", nil
		case string, int64, float64, bool:
			return data.Str(v), nil
		}
		return nil, wrong
	case flag:
		if b, ok := v.(bool); ok {
			return b, nil
		}
		return nil, wrong
	case number:
		if n, ok := v.(int64); ok {
			return n, nil
		}
		return nil, wrong
	case envsMap:
		return readEnvs(v)
	}
	return readList(v)
}

// readList reads a list of texts, or one text with commas.
func readList(v any) ([]string, error) {
	var out []string
	switch v := v.(type) {
	case nil:
	case string:
		for s := range strings.SplitSeq(v, ",") {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
	case []any:
		for _, e := range v {
			s, err := text.check(e)
			if err != nil {
				return nil, fmt.Errorf("is not %s", list)
			}
			out = append(out, s.(string))
		}
	default:
		return nil, fmt.Errorf("is not %s", list)
	}
	return out, nil
}

// readEnvs reads the settings of single environments: a list of environments, each with a list of
// root, mountpoint and ref.
func readEnvs(v any) (map[string]envConf, error) {
	envs, err := repack(v)
	if err != nil {
		return nil, err
	}
	out := map[string]envConf{}
	for k, v := range envs.All() {
		own, err := repack(v)
		if err != nil {
			return nil, err
		}
		var c envConf
		for name, v := range own.All() {
			s, err := text.check(v)
			if err != nil {
				return nil, fmt.Errorf("has a %s of %s that is not text",
					data.Str(name), data.Str(k))
			}
			if err := c.set(data.Str(name), s.(string)); err != nil {
				return nil, err
			}
		}
		out[data.Str(k)] = c
	}
	return out, nil
}

func (c *envConf) set(name, value string) (err error) {
	switch name {
	case "ref":
		c.ref = &value
	case "root":
		value, err = cleanPath(value)
		c.root = &value
	case "mountpoint":
		value, err = cleanMount(value)
		c.mount = &value
	default:
		err = fmt.Errorf("has the unknown key %.60q; known keys are mountpoint, ref, root", name)
	}
	return err
}

// cleanMount reads a path in an environment, which may start with salt://.
func cleanMount(s string) (string, error) {
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	return cleanPath(s)
}

func cleanPath(s string) (string, error) {
	s = strings.Trim(s, "/")
	if s == "" {
		return "", nil
	}
	if s = path.Clean(s); !fs.ValidPath(s) {
		return "", fmt.Errorf("has %.200q, which is not a path that stays inside", s)
	}
	if s == "." {
		return "", nil
	}
	return s, nil
}

// fill sets empty options to Salt's defaults.
func (c conf) fill() {
	if c.text("base") == "" {
		c["base"] = "master"
	}
	if len(c.list("refspecs")) == 0 {
		c["refspecs"] = []string{"+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"}
	}
	if len(c.list("ref_types")) == 0 {
		c["ref_types"] = []string{"branch", "tag", "sha"}
	}
}

// newRemote makes a remote from its address and options.
func newRemote(url string, c conf, global map[string]envConf, root string) (*remote, error) {
	c.fill()
	m, err := mirror.Open(mirror.Options{URL: url, Name: c.text("name"),
		Refspecs: c.list("refspecs"), NoVerify: c["ssl_verify"] == false,
		Proxy: c.text("proxy"), User: c.text("user"), Password: c.text("password"),
		InsecureAuth: c.flag("insecure_auth"), PrivKey: c.text("privkey"),
		Passphrase: c.text("passphrase"), Root: root})
	if err != nil {
		return nil, err
	}
	r := &remote{mirror: m, name: c.text("name"), base: c.text("base"),
		fallback: c.text("fallback"), allEnvs: c.text("all_saltenvs"), own: c.envs(),
		global: global, unmapped: c.flag("disable_saltenv_mapping"),
		refTypes: slices.Clone(c.list("ref_types")), interval: c.interval(),
		exposed: fileserver.NewExposure(c.list("saltenv_whitelist"), c.list("saltenv_blacklist"))}
	var rootErr, mountErr error
	r.root, rootErr = cleanPath(c.text("root"))
	r.mount, mountErr = cleanMount(c.text("mountpoint"))
	if err := errors.Join(rootErr, mountErr); err != nil {
		return nil, fmt.Errorf("%s: root or mountpoint %w", m.URL(), err)
	}
	for i, t := range r.refTypes {
		r.refTypes[i] = strings.ToLower(t)
		if !slices.Contains([]string{"branch", "tag", "sha"}, r.refTypes[i]) {
			return nil, fmt.Errorf("%s: ref_types has the unknown type %.40q; known types are branch, tag, sha", m.URL(), t)
		}
	}
	if key := c.text("privkey"); key != "" && m.SSH() {
		if _, err := os.Stat(key); err != nil {
			return nil, fmt.Errorf("%s: privkey: %w", m.URL(), err)
		}
	}
	r.mapRefs()
	return r, nil
}
