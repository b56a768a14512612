// Whatever the routes of a server are, its document is valid, and describes each route that OpenAPI can describe.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { validated } from '../support/openapi-validator.ts'
import { documentOf, routeTables } from '../support/route-tables.ts'
import { thinned } from '../support/thinned.ts'

test('the documents of all kinds of route tables are valid', async () => {
  let described = 0
  await fc.assert(
    fc.asyncProperty(routeTables, async (table) => {
      const text = await documentOf(table)
      const document = JSON.parse(text) as {
        readonly paths: Record<string, Record<string, object>>
        readonly components: Record<string, object>
      }
      assert.equal(await validated(document), null, text)
      const operations = Object.values(document.paths).flatMap(({ additionalOperations = {}, ...own }) => [
        ...Object.values(own),
        ...Object.values(additionalOperations),
      ])
      const left = table.warnings.filter((warning) => warning.includes('is left out'))
      assert.equal(operations.length + left.length, table.mapped)
      for (const [, ref] of text.matchAll(/"\$ref": "#\/components\/(.*?)"/g)) {
        const [kind, name] = ref!.split('/') as [string, string]
        assert.ok(Object.hasOwn(document.components[kind]!, name), ref)
      }
      described += operations.length
    }),
    { numRuns: thinned(200), endOnFailure: true, includeErrorInReport: true },
  )
  assert.ok(described > thinned(200), String(described))
})
