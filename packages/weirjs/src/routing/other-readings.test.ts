import assert from 'node:assert/strict'
import { test } from 'node:test'

import { otherHost, otherReadings } from './other-readings.ts'

test('a path has other readings if some code may see slashes elsewhere', () => {
  const rows: readonly (readonly [path: string, readings: readonly string[]])[] = [
    ['/', []],
    ['/admin/a.b/', []],
    ['/a%2', []],
    ['/admin//a', ['/admin/a']],
    ['//admin/a', ['/admin/a', '/a']],
    ['//x/admin/a', ['/x/admin/a', '/admin/a']],
    ['///x/admin', ['/x/admin', '/admin']],
    ['//x', ['/x', '/']],
    ['//', ['/', '/']],
    ['/admin%2Fa', ['/admin/a']],
    ['/%2Fx/admin', ['/x/admin', '/admin']],
    ['/admin\\a', ['/admin/a']],
    ['/x/..%2Fadmin', ['/admin']],
    ['/x%2F..', ['/']],
    ['/admin%2F.', ['/admin/']],
    ['/..%2F..%2Fadmin/', ['/admin/']],
  ]
  for (const [path, readings] of rows) assert.deepEqual(otherReadings(path), readings, path)
})

test('a host has another reading if URL parsers decode it', () => {
  assert.deepEqual(['%61dmin.example', 'admin%2Eexample', 'admin.example', '%zz', ''].map(otherHost), [
    'admin.example',
    'admin.example',
    null,
    null,
    null,
  ])
})
