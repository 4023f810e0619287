package yumpkg

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages/rpm"
)

const centos = `# CentOS-Base.repo
#
# The mirrors

[base]
name=CentOS-$releasever - Base
mirrorlist=http://mirrorlist.centos.org/?release=$releasever
gpgcheck=1
# a remark
GPGKey = file:///etc/pki/a
  file:///etc/pki/b

#released updates
[updates]
name: CentOS-$releasever - Updates
baseurl=http://mirror
enabled=0
`

func repoHost(t *testing.T) *host {
	h := fakeHost(t, "dnf", map[string]string{
		"rpm -qa --queryformat %{NAME}_|-%{EPOCH}_|-%{VERSION}_|-%{RELEASE}_|-%{ARCH}_|-(none)_|-%{INSTALLTIME}\n": "bash_|-(none)_|-5_|-1_|-x86_64_|-(none)_|-1\n"})
	for path, text := range map[string]string{"/etc/dnf/dnf.conf": "[main]\nreposdir = /etc/yum.repos.d\n", "/etc/yum.repos.d/base.repo": centos} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(h.root, path)), 0o755))
		must(t, os.WriteFile(filepath.Join(h.root, path), []byte(text), 0o644))
	}
	return h
}

func (h *host) text(path string) string {
	text, err := os.ReadFile(filepath.Join(h.root, path))
	if err != nil {
		return "none"
	}
	return string(text)
}

func TestRepos(t *testing.T) {
	h := repoHost(t)
	const file = "/etc/yum.repos.d/base.repo"
	base := data.NewMap("name", "CentOS-$releasever - Base", "mirrorlist",
		"http://mirrorlist.centos.org/?release=$releasever", "gpgcheck", "1",
		"comments", []any{"a remark", "released updates"}, "gpgkey", "file:///etc/pki/a\nfile:///etc/pki/b")
	updates := data.NewMap("name", "CentOS-$releasever - Updates", "baseurl", "http://mirror", "enabled", "0")
	for range 2 {
		h.is(base, "get_repo", []any{"base"})
		h.is(&data.Map{}, "get_repo", []any{"none"})
		b, u := base.Clone(), updates.Clone()
		b.Set("file", file)
		u.Set("file", file)
		h.is(data.NewMap("base", b, "updates", u), "list_repos", nil)
		h.is("Error: the none repo does not exist in ['/etc/yum.repos.d']", "del_repo", []any{"none"})
	}
	h.is("Repo updates has been removed from "+file, "del_repo", []any{"updates"})
	h.is("Error: the updates repo does not exist in ['/etc/yum.repos.d']", "del_repo", []any{"updates"})
	if got := h.text(file); got != "# CentOS-Base.repo\n#\n# The mirrors\n\n[base]\nname=CentOS-$releasever - Base\nmirrorlist=http://mirrorlist.centos.org/?release=$releasever\n"+
		"gpgcheck=1\ngpgkey=file:///etc/pki/a\n file:///etc/pki/b\n# a remark\n# released updates\n\n" {
		t.Errorf("the file is\n%s", got)
	}
	h.is("File "+file+" containing repo base has been removed", "del_repo", []any{"base"})
	if h.text(file) != "none" {
		t.Error("the file is still there")
	}
}

func TestModRepo(t *testing.T) {
	h := repoHost(t)
	const file = "/etc/yum.repos.d/web.repo"
	for i := range 2 {
		h.is(data.NewMap(file, data.NewMap("web", data.NewMap("name", "Web", "baseurl",
			"http://a\nhttp://b", "enabled", true, "gpgcheck", int64(0)))),
			"mod_repo", []any{"web"}, "name", "Web", "baseurl", "http://a\nhttp://b", "enabled",
			true, "gpgcheck", int64(0), "comments", []any{"#one", "# two"})
		if got := h.text(file); i == 0 &&
			got != "[web]\nname=Web\nbaseurl=http://a\n http://b\nenabled=1\ngpgcheck=0\n# one\n# two\n\n" {
			t.Errorf("the file is\n%s", got)
		}
		h.is(data.NewMap("name", "Web", "baseurl", "http://a\nhttp://b", "enabled", "1", "gpgcheck",
			"0", "comments", []any{"one", "two"}), "get_repo", []any{"web"})
		h.is(data.NewMap(file, data.NewMap("web", data.NewMap("name", "Web", "enabled", "1",
			"mirrorlist", "http://m"))), "mod_repo", []any{"web"},
			"mirrorlist", "http://m", "gpgcheck", nil, "comments", "")
		h.is(data.NewMap("name", "Web", "enabled", "1", "mirrorlist", "http://m"), "get_repo", []any{"web"})
	}
	for want, words := range map[string][]any{
		"Only one of 'mirrorlist' and 'baseurl' can be specified":                                                            {"mirrorlist", "a", "baseurl", "b"},
		"The repo name cannot be deleted":                                                                                    {"name", ""},
		"The repo does not exist and needs to be created, but a name was not given":                                          {"enabled", true},
		"The repo does not exist and needs to be created, but either a baseurl or a mirrorlist needs to be given":            {"name", "x"},
		"The repo does not exist and needs to be created, but none of the following basedir directories exist: ['/x', '/y']": {"name", "x", "basedir", "/x, /y"},
	} {
		h.is("salt.exceptions.SaltInvocationError: "+want, "mod_repo", []any{"new"}, words...)
	}
	h.is("salt.exceptions.SaltInvocationError: Cannot delete mirrorlist without specifying baseurl",
		"mod_repo", []any{"base"}, "mirrorlist", "")
	h.is("salt.exceptions.SaltInvocationError: dnf-plugins-core must be installed to use COPR",
		"mod_repo", []any{"copr:a/b"}, "name", "x")
}

func TestNoConfiguration(t *testing.T) {
	h := repoHost(t)
	must(t, os.Remove(filepath.Join(h.root, "/etc/dnf/dnf.conf")))
	h.is("salt.exceptions.CommandExecutionError: No suitable yum config file found in: ('/etc/yum/yum.conf', '/etc/yum.conf', '/etc/dnf/dnf.conf', '/etc/tdnf/tdnf.conf')",
		"list_repos", nil)
}

func FuzzOutputs(f *testing.F) {
	f.Add(centos)
	f.Add("Available Packages\nbash.x86_64 1-1 base\nvery-long\n 1 @x\nObsoleting Packages\n")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := rpm.ParseRepos(text); err == nil {
			again, err := rpm.ParseRepos(r.Text(""))
			if err == nil && again.Repos.Len() != r.Repos.Len() {
				t.Errorf("%q becomes %q", text, r.Text(""))
			}
		}
		_ = parseListed(text, "x86_64")
		_ = rpm.ParseInstalled(text, "x86_64")
		_ = parseGroups(text)
		_ = members(text, "default")
		_ = parsePatches(text)
	})
}
