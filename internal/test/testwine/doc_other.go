//go:build !linux

// Package testwine runs our programs for Windows under Wine on Linux, for tests.
package testwine
