// Package packages holds what the modules of package managers (pkg, lowpkg, pkg_resource) and the state pkg have in common:
// conditions on versions, dictionaries of versions and what changed between two of them, the file that says that the lists of a
// package manager are to be refreshed, arguments, and programs that must outlive the minion.
//
// The sources are salt/utils/pkg/__init__.py, salt/utils/versions.py, salt/utils/systemd.py, salt/utils/data.py and
// salt/modules/pkg_resource.py.
package packages
