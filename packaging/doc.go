// Package packaging holds the files that Brine ships with: units and scripts of service managers,
// default configuration, and the descriptions of archives, deb and rpm packages and container
// images. docs/packaging.md describes them.
//
// The only code here is tests, which run the shipped files: the scripts of the deb packages in a
// Debian system of their own, master and minion in the root of the container image.
package packaging
