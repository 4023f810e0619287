// Package trees applies states to Debian systems that its tests create with debootstrap and boot,
// with systemd, in namespaces.
package trees
