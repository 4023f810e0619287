package main

//go:generate go run github.com/brineproject/brine/internal/reference
