//go:build tools

// Package tools names the program that this module builds, so that go.mod and go.sum keep what it needs.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
