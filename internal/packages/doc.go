// Package packages holds the common parts of the package manager modules (pkg, lowpkg,
// pkg_resource) and the state pkg: conditions on versions, dictionaries of versions and their
// changes, the file that requests a refresh of package lists, arguments, and programs that must
// outlive the minion.
//
// The sources are salt/utils/pkg/__init__.py, salt/utils/versions.py, salt/utils/systemd.py,
// salt/utils/data.py and salt/modules/pkg_resource.py.
package packages
