import assert from 'node:assert/strict'
import { test } from 'node:test'

import { loadPackage } from './optional-package.ts'

test('a package that is not installed is named, with the way to install it', () => {
  assert.throws(() => loadPackage('weir-has-no-such-package'), {
    code: 'WEIR_PACKAGE_MISSING',
    message: /npm install weir-has-no-such-package$/,
  })
})
