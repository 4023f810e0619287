package pkg

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
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

// downloaded downloads package files to the host, so that they can be installed without a network.
//
// pkgs
//
//	A list of packages instead of the name. Each is a name or a dictionary of name and version.
//
// version, fromrepo, ignore_epoch, resolve_capabilities
//
//	As in pkg.installed.
//
//	zsh:
//	  pkg.downloaded:
//	    - version: 5.0.5-4.63
func (m *module) downloaded(ctx context.Context, a downloadedArgs) (change.Result, error) {
	switch {
	case !m.has("pkg.list_downloaded"):
		return change.Refuse(a.Name, "The pkg.downloaded state is not available on this platform")
	case emptyList(a.Pkgs):
		return change.Leave(a.Name, "No packages to download provided")
	}
	if data.Truth(a.Name) && !data.Truth(a.Pkgs) {
		a.Pkgs, a.Version = singlePackage(a.Name, a.Version), nil
	}
	kwargs := words(ctx, a.Kwargs)
	kwargs.Delete("downloadonly")
	kwargs.Delete("saltenv")
	o := &order{silent: true}
	find := func(ctx context.Context) (err error) {
		if a.Pkgs, _, err = m.capabilities(ctx, a.Pkgs, false, kwargs); err != nil {
			return change.Raise(err)
		}
		return m.downloadTargets(ctx, a, o, kwargs)
	}
	return o.run(ctx, a.Name, find,
		func(ctx context.Context) error { return m.download(ctx, a, o, kwargs) })
}

// download downloads the files and verifies the outcome.
func (m *module) download(
	ctx context.Context, a downloadedArgs, o *order, kwargs *data.Map,
) (err error) {
	all := kwargs.Clone()
	all.Update(data.NewMap("name", a.Name, "pkgs", a.Pkgs, "version", a.Version,
		"downloadonly", true, "fromrepo", a.Fromrepo, "ignore_epoch", a.IgnoreEpoch))
	if o.changes, err = calls.PkgInstall(ctx, m.env, all); err != nil {
		return o.failure("An error was encountered while downloading package(s)", err)
	}
	there, err := m.fetched(ctx, kwargs)
	if err != nil {
		return change.Raise(err)
	}
	_, failed, err := m.present(ctx, o.wanted, there, nil, rule{ignoreEpoch: a.IgnoreEpoch})
	switch {
	case err != nil:
		return change.Raise(err)
	case len(failed) > 0:
		return change.Reason("The following packages failed to download: " +
			listed(failed, o.wanted, false))
	case o.changes.Len() == 0:
		o.texts.Done = "Packages downloaded: " + strings.Join(names(o.wanted), ", ")
	}
	return nil
}

// fetched returns the packages whose files are on the host, with lists of their versions.
func (m *module) fetched(ctx context.Context, kwargs *data.Map) (*data.Map, error) {
	all, err := calls.ListDownloaded(ctx, m.env, kwargs)
	if err != nil {
		return nil, err
	}
	out := &data.Map{}
	for name, versions := range all.All() {
		out.Set(name, versions.(*data.Map).Keys())
	}
	return out, nil
}

// downloadTargets finds the packages whose files are missing in the desired versions.
func (m *module) downloadTargets(
	ctx context.Context, a downloadedArgs, o *order, kwargs *data.Map,
) error {
	there, err := m.fetched(ctx, kwargs)
	if err != nil {
		return change.Raise(err)
	}
	wanted, err := m.repack(ctx, a.Pkgs, true)
	switch {
	case err != nil:
		return change.Raise(err)
	case wanted.Len() == 0:
		return change.Reason("Invalidly formatted pkgs parameter. See minion log.")
	}
	more := kwargs.Clone()
	more.Set("fromrepo", a.Fromrepo)
	if missing, err := m.preflight(ctx, names(wanted), more); err != nil {
		return change.Raise(err)
	} else if missing != "" {
		return change.Reason(missing)
	}
	o.wanted, o.texts.Same = &data.Map{}, "All specified packages are already downloaded"
	for name, version := range wanted.All() {
		now := texts(there.Value(name))
		good := len(now) > 0
		if good && data.Truth(version) {
			o.texts.Same = "All specified packages (matching specified versions) are already downloaded"
			if good, err = m.fulfilled(ctx, now, data.Str(version),
				rule{ignoreEpoch: a.IgnoreEpoch}); err != nil {
				return change.Raise(err)
			}
		}
		if !good {
			o.wanted.Set(name, version)
		}
	}
	o.texts.Would = "The following packages would be downloaded: " +
		strings.Join(names(o.wanted), ", ")
	return nil
}

type patchArgs struct {
	Name         any
	AdvisoryIds  any       `default:"None"`
	Downloadonly any       `default:"None"`
	Kwargs       *data.Map `kwargs:"kwargs"`
}

// patchInstalled installs patches with an advisory, if the package manager supports patches.
//
// advisory_ids
//
//	A list of advisories instead of the name.
//
// downloadonly
//
//	Only download the files.
//
//	issue-foo-fixed:
//	  pkg.patch_installed:
//	    - advisory_ids:
//	      - SUSE-SLE-SERVER-12-SP2-2017-185
func (m *module) patchInstalled(ctx context.Context, a patchArgs) (change.Result, error) {
	if !m.has("pkg.list_patches") {
		return change.Refuse(a.Name, "The pkg.patch_installed state is not available on this platform")
	}
	if emptyList(a.AdvisoryIds) {
		return change.Leave(a.Name, "No advisory ids provided")
	}
	kwargs := words(ctx, a.Kwargs)
	kwargs.Delete("saltenv")
	o := &order{silent: true}
	find := func(ctx context.Context) error {
		now, err := calls.ListInstalledPatches(ctx, m.env, kwargs)
		o.patches(a, now)
		return change.Raise(err)
	}
	return o.run(ctx, a.Name, find, func(ctx context.Context) (err error) {
		kwargs.Update(data.NewMap("name", a.Name, "advisory_ids", a.AdvisoryIds,
			"downloadonly", a.Downloadonly))
		if o.changes, err = calls.PkgInstall(ctx, m.env, kwargs); err != nil {
			return o.failure("An error was encountered while downloading package(s)", err)
		}
		if o.changes.Len() == 0 {
			o.texts.Done = "Advisory patch is not needed or related packages are already installed"
			if data.Truth(a.Downloadonly) {
				o.texts.Done = "Advisory patch is not needed or related packages are already downloaded"
			}
		}
		return nil
	})
}

// patches finds the patches that are not installed.
func (o *order) patches(a patchArgs, now *data.Map) {
	wanted := texts(a.AdvisoryIds)
	o.texts.Same = "All specified advisory patches are already installed"
	if !data.Truth(a.AdvisoryIds) {
		wanted = []string{data.Str(a.Name)}
		o.texts.Same = "Advisory patch " + wanted[0] + " is already installed"
	}
	var targets []string
	for _, id := range wanted {
		if !data.Truth(now.Value(id)) {
			targets = append(targets, id)
		}
	}
	if len(targets) > 0 {
		o.wanted = data.NewMap("patches", targets)
	}
	o.texts.Would = "The following advisory patches would be downloaded: " +
		strings.Join(targets, ", ")
}

type patchDownloadedArgs struct {
	Name        any
	AdvisoryIds any       `default:"None"`
	Kwargs      *data.Map `kwargs:"kwargs"`
}

// patchDownloaded downloads the files of patches with an advisory, if the package manager supports
// patches.
//
// advisory_ids
//
//	A list of advisories instead of the name.
//
//	preparing-to-fix-issues:
//	  pkg.patch_downloaded:
//	    - advisory_ids:
//	      - SUSE-SLE-SERVER-12-SP2-2017-185
func (m *module) patchDownloaded(
	ctx context.Context, a patchDownloadedArgs,
) (change.Result, error) {
	if !m.has("pkg.list_patches") {
		return change.Refuse(a.Name, "The pkg.patch_downloaded state is not available on this platform")
	}
	kwargs := a.Kwargs.Clone()
	kwargs.Delete("downloadonly")
	return m.patchInstalled(ctx, patchArgs{Name: a.Name, AdvisoryIds: a.AdvisoryIds,
		Downloadonly: true, Kwargs: kwargs})
}
