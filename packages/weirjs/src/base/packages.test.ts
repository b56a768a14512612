import assert from 'node:assert/strict'
import { test } from 'node:test'

import { requireOptionalPackage } from './packages.ts'

test('the error for a missing package names it and shows how to install it', () => {
  assert.throws(() => requireOptionalPackage('weir-has-no-such-package'), {
    code: 'WEIR_PACKAGE_MISSING',
    message: /npm install weir-has-no-such-package$/,
  })
})

test('the command can name the other packages that are needed too', () => {
  assert.throws(() => requireOptionalPackage('weir-has-no-such-package', 'another weir-has-no-such-package'), {
    code: 'WEIR_PACKAGE_MISSING',
    message: /npm install another weir-has-no-such-package$/,
  })
})
