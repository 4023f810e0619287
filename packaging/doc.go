// Package packaging holds what Brine is shipped with: units and scripts of service managers, default configuration, and the
// descriptions of archives, deb and rpm packages and container images. docs/packaging.md shows it on a page.
//
// There is no code here but the tests, which run what is shipped: the scripts of the deb packages in a Debian system of
// their own, master and minion in the root of the container image.
package packaging
