package aptsources

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

func isPPA(repo string) bool { return strings.HasPrefix(repo, "ppa:") }

// supportsPPA reports whether the system accepts the short names of Launchpad archives.
func (m *module) supportsPPA() bool {
	return slices.Contains([]string{"Ubuntu", "Mint", "neon"}, m.grain("os"))
}

// ppaOf splits the short name of an archive.
func ppaOf(repo string) (owner, name string, err error) {
	short := strings.TrimPrefix(repo, "ppa:")
	owner, name, ok := strings.Cut(short, "/")
	if !ok {
		return "", "", loader.Execution("Unable to get PPA info from argument. Expected format \"<PPA_OWNER>/<PPA_NAME>\" (e.g. saltstack/salt) "+
			"not found.  Received '%s' instead.", short)
	}
	return owner, name, nil
}

// ppaLine returns the source line of an archive.
func (m *module) ppaLine(owner, name string, kwargs *data.Map) string {
	if login := kwargs.Text("ppa_auth"); login != "" {
		return fmt.Sprintf("deb https://%s@private-ppa.launchpad.net/%s/%s/ubuntu %s main", login,
			owner, name, m.grain("oscodename"))
	}
	return fmt.Sprintf("deb http://ppa.launchpad.net/%s/%s/ubuntu %s main", owner, name,
		m.grain("oscodename"))
}

// An archive is Launchpad's description of an archive.
type archive struct {
	Fingerprint string `json:"signing_key_fingerprint"`
	Private     bool   `json:"private"`
}

// askLaunchpad fetches the description of an archive from Launchpad.
func (m *module) askLaunchpad(ctx context.Context, owner, name string) (archive, error) {
	url := fmt.Sprintf("https://api.launchpad.net/1.0/~%s/+archive/%s", owner, name)
	text, err := loader.CallAs[string](ctx, m.env, "cp.get_url", []any{url, nil}, nil)
	if err != nil {
		return archive{}, loader.Execution("Launchpad does not know about %s/%s: %w",
			owner, name, err)
	}
	var a archive
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return archive{}, loader.Execution("Launchpad does not know about %s/%s: %w",
			owner, name, err)
	}
	if a.Fingerprint == "" {
		return archive{}, loader.Execution("Launchpad knows about %s/%s but did not return a fingerprint. Please set keyid manually: "+
			"no signing_key_fingerprint", owner, name)
	}
	return a, nil
}

// addPPA adds an archive with apt-add-repository. It returns the program's output, or the source if
// it exists already.
func (m *module) addPPA(ctx context.Context, repo string, refresh bool) (any, error) {
	now, err := m.getRepo(ctx, repoArgs{Repo: repo, Kwargs: &data.Map{}})
	if err != nil || data.Truth(now) {
		return data.NewMap(repo, now), err
	}
	command := []string{"apt-add-repository", "-y", repo}
	if release, err := strconv.ParseFloat(m.grain("osrelease"), 64); err == nil && release < 12.04 {
		command = []string{"apt-add-repository", repo}
	}
	r := calls.Run{}
	proxy, err := m.proxy(ctx)
	if err != nil {
		return nil, err
	}
	if proxy != "" {
		r.Env = data.NewMap("http_proxy", proxy, "https_proxy", proxy)
	}
	out, err := m.run(ctx, r, command...)
	if err != nil {
		return nil, err
	}
	if out.Retcode != 0 {
		return nil, loader.Execution("Unable to add PPA '%s'. '%s' exited with status %d: '%s' ",
			repo[4:], data.Str(data.Values(command)), out.Retcode, out.Stderr)
	}
	if refresh {
		err = calls.RefreshDB(ctx, m.env)
	}
	return data.NewMap(repo, out.Map), err
}

// expandPPA expands the short name of an archive and returns its source.
func (m *module) expandPPA(ctx context.Context, repo string, kwargs *data.Map) (string, error) {
	owner, name, err := ppaOf(repo)
	if err != nil {
		return "", err
	}
	if !kwargs.Has("file") {
		kwargs.Set("file", fmt.Sprintf("%s/%s-%s-%s.list", dropDir, owner, name,
			m.grain("oscodename")))
	}
	a, err := m.askLaunchpad(ctx, owner, name)
	login := kwargs.Has("ppa_auth")
	switch {
	case err != nil:
		return "", err
	case !login:
		kwargs.Set("keyid", a.Fingerprint)
	case !kwargs.Has("keyid"):
		return "", loader.Execution("Private PPAs require a keyid to be specified: %s/%s", owner,
			name)
	case !a.Private:
		return "", loader.Execution("PPA is not private but auth credentials passed: %s", repo)
	}
	kwargs.Set("dist", m.grain("oscodename"))
	if !kwargs.Has("keyserver") {
		kwargs.Set("keyserver", "keyserver.ubuntu.com")
	}
	return m.ppaLine(owner, name, kwargs), nil
}

// proxy returns the proxy set in the minion's options, or "".
func (m *module) proxy(ctx context.Context) (string, error) {
	var parts [4]string
	for i, name := range []string{"proxy_host", "proxy_port", "proxy_username", "proxy_password"} {
		v, err := loader.CallAs[any](ctx, m.env, "config.option", []any{name}, nil)
		if err != nil {
			return "", err
		}
		parts[i] = calls.Text(v) // a port is a number
	}
	switch host, port, user, password := parts[0], parts[1], parts[2], parts[3]; {
	case host == "" || port == "":
		return "", nil
	case user != "" && password != "":
		return fmt.Sprintf("http://%s:%s@%s:%s", user, password, host, port), nil
	default:
		return fmt.Sprintf("http://%s:%s", host, port), nil
	}
}
