package pkg

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

type downloadedArgs struct {
	Name        any
	Version     any       `default:"None"`
	Pkgs        any       `default:"None"`
	Fromrepo    any       `default:"None"`
	IgnoreEpoch any       `default:"None"`
	Kwargs      *data.Map `kwargs:"kwargs"`
}

// downloaded keeps the files of packages on the host, so that they can be installed without a network.
//
// pkgs
//
//	In place of the name a list of packages, each a name or a dictionary of name and version.
//
// version, fromrepo, ignore_epoch, resolve_capabilities
//
//	As in pkg.installed.
//
//	zsh:
//	  pkg.downloaded:
//	    - version: 5.0.5-4.63
func (m *module) downloaded(ctx context.Context, a downloadedArgs) (any, error) {
	switch {
	case !m.has("pkg.list_downloaded"):
		return change.Failed(a.Name, "The pkg.downloaded state is not available on this platform"), nil
	case emptyList(a.Pkgs):
		return change.Done(a.Name, "No packages to download provided"), nil
	}
	if data.Truth(a.Name) && !data.Truth(a.Pkgs) {
		a.Pkgs, a.Version = alone(a.Name, a.Version), nil
	}
	kwargs := words(ctx, a.Kwargs)
	kwargs.Delete("downloadonly")
	kwargs.Delete("saltenv")
	var err error
	if a.Pkgs, _, err = m.capabilities(ctx, a.Pkgs, false, kwargs); err != nil {
		return nil, err
	}
	targets, ret, err := m.downloadTargets(ctx, a, kwargs)
	switch {
	case ret != nil || err != nil:
		return ret, err
	case change.Test(ctx):
		return change.Would(a.Name, nil, "The following packages would be downloaded: "+strings.Join(names(targets), ", ")), nil
	}
	return m.download(ctx, a, targets, kwargs)
}

// download fetches the files, and looks what came of it.
func (m *module) download(ctx context.Context, a downloadedArgs, targets, kwargs *data.Map) (any, error) {
	all := kwargs.Clone()
	all.Update(data.NewMap("name", a.Name, "pkgs", a.Pkgs, "version", a.Version, "downloadonly", true, "fromrepo", a.Fromrepo, "ignore_epoch", a.IgnoreEpoch))
	changes, err := m.dictionary(ctx, "pkg.install", nil, all)
	if err != nil {
		return failure(a.Name, "An error was encountered while downloading package(s)", err)
	}
	there, err := m.fetched(ctx, kwargs)
	if err != nil {
		return nil, err
	}
	_, failed, err := m.present(ctx, targets, there, nil, rule{ignoreEpoch: a.IgnoreEpoch})
	switch {
	case err != nil:
		return nil, err
	case len(failed) > 0:
		return change.New(a.Name, false, changes, "The following packages failed to download: "+listed(failed, targets, false)), nil
	case changes.Len() > 0:
		return change.New(a.Name, true, changes, ""), nil
	}
	return change.Done(a.Name, "Packages downloaded: "+strings.Join(names(targets), ", ")), nil
}

// fetched returns the packages whose files are there with lists of their versions.
func (m *module) fetched(ctx context.Context, kwargs *data.Map) (*data.Map, error) {
	all, err := m.dictionary(ctx, "pkg.list_downloaded", nil, kwargs)
	out := &data.Map{}
	for name, v := range all.All() {
		versions, _ := v.(*data.Map)
		out.Set(name, versions.Keys())
	}
	return out, err
}

// downloadTargets returns the packages whose files are not there in the versions that are wanted. A result that is not nil is that of
// the state.
func (m *module) downloadTargets(ctx context.Context, a downloadedArgs, kwargs *data.Map) (*data.Map, *data.Map, error) {
	there, err := m.fetched(ctx, kwargs)
	if err != nil {
		return nil, nil, err
	}
	wanted, err := m.repack(ctx, a.Pkgs, true)
	if err != nil {
		return nil, nil, err
	}
	if wanted.Len() == 0 {
		return nil, change.Failed(a.Name, "Invalidly formatted pkgs parameter. See minion log."), nil
	}
	more := kwargs.Clone()
	more.Set("fromrepo", a.Fromrepo)
	if ret, err := m.preflight(ctx, a.Name, names(wanted), more); ret != nil || err != nil {
		return nil, ret, err
	}
	targets, versions := &data.Map{}, false
	for name, version := range wanted.All() {
		now := texts(there.Value(name))
		good := len(now) > 0
		if good && data.Truth(version) {
			versions = true
			if good, err = m.fulfilled(ctx, now, data.Str(version), rule{ignoreEpoch: a.IgnoreEpoch}); err != nil {
				return nil, nil, err
			}
		}
		if !good {
			targets.Set(name, version)
		}
	}
	if targets.Len() > 0 {
		return targets, nil, nil
	}
	text := "All specified packages are already downloaded"
	if versions {
		text = "All specified packages (matching specified versions) are already downloaded"
	}
	return nil, change.Done(a.Name, text), nil
}

type patchArgs struct {
	Name         any
	AdvisoryIds  any       `default:"None"`
	Downloadonly any       `default:"None"`
	Kwargs       *data.Map `kwargs:"kwargs"`
}

// patchInstalled keeps patches installed that have an advisory, where the package manager knows of such.
//
// advisory_ids
//
//	In place of the name a list of advisories.
//
// downloadonly
//
//	Only fetch the files.
//
//	issue-foo-fixed:
//	  pkg.patch_installed:
//	    - advisory_ids:
//	      - SUSE-SLE-SERVER-12-SP2-2017-185
func (m *module) patchInstalled(ctx context.Context, a patchArgs) (any, error) {
	if !m.has("pkg.list_patches") {
		return change.Failed(a.Name, "The pkg.patch_installed state is not available on this platform"), nil
	}
	if emptyList(a.AdvisoryIds) {
		return change.Done(a.Name, "No advisory ids provided"), nil
	}
	kwargs := words(ctx, a.Kwargs)
	kwargs.Delete("saltenv")
	targets, ret, err := m.patchTargets(ctx, a, kwargs)
	switch {
	case ret != nil || err != nil:
		return ret, err
	case change.Test(ctx):
		return change.Would(a.Name, nil, "The following advisory patches would be downloaded: "+strings.Join(targets, ", ")), nil
	}
	kwargs.Update(data.NewMap("name", a.Name, "advisory_ids", a.AdvisoryIds, "downloadonly", a.Downloadonly))
	changes, err := m.dictionary(ctx, "pkg.install", nil, kwargs)
	if err != nil {
		return failure(a.Name, "An error was encountered while downloading package(s)", err)
	}
	if changes.Len() > 0 {
		return change.New(a.Name, true, changes, ""), nil
	}
	done := "installed"
	if data.Truth(a.Downloadonly) {
		done = "downloaded"
	}
	return change.Done(a.Name, "Advisory patch is not needed or related packages are already "+done), nil
}

// patchTargets returns the patches that are not installed. A result that is not nil is that of the state.
func (m *module) patchTargets(ctx context.Context, a patchArgs, kwargs *data.Map) ([]string, *data.Map, error) {
	now, err := m.dictionary(ctx, "pkg.list_installed_patches", nil, kwargs)
	if err != nil {
		return nil, nil, err
	}
	wanted := texts(a.AdvisoryIds)
	if !data.Truth(a.AdvisoryIds) {
		wanted = []string{data.Str(a.Name)}
		if data.Truth(now.Value(wanted[0])) {
			return nil, change.Done(a.Name, "Advisory patch "+wanted[0]+" is already installed"), nil
		}
	}
	var targets []string
	for _, id := range wanted {
		if !data.Truth(now.Value(id)) {
			targets = append(targets, id)
		}
	}
	if len(targets) == 0 {
		return nil, change.Done(a.Name, "All specified advisory patches are already installed"), nil
	}
	return targets, nil, nil
}

type patchDownloadedArgs struct {
	Name        any
	AdvisoryIds any       `default:"None"`
	Kwargs      *data.Map `kwargs:"kwargs"`
}

// patchDownloaded keeps the files of patches on the host that have an advisory, where the package manager knows of such.
//
// advisory_ids
//
//	In place of the name a list of advisories.
//
//	preparing-to-fix-issues:
//	  pkg.patch_downloaded:
//	    - advisory_ids:
//	      - SUSE-SLE-SERVER-12-SP2-2017-185
func (m *module) patchDownloaded(ctx context.Context, a patchDownloadedArgs) (any, error) {
	if !m.has("pkg.list_patches") {
		return change.Failed(a.Name, "The pkg.patch_downloaded state is not available on this platform"), nil
	}
	kwargs := a.Kwargs.Clone()
	kwargs.Delete("downloadonly")
	return m.patchInstalled(ctx, patchArgs{Name: a.Name, AdvisoryIds: a.AdvisoryIds, Downloadonly: true, Kwargs: kwargs})
}
