import assert from 'node:assert/strict'
import { test } from 'node:test'

import { checkModule } from './module-host.ts'

test('refuses what is no module, and says what was probably meant', () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [null, /not null$/],
    [{ name: 'a' }, /not an object$/],
    [{ install: () => {} }, /not an object$/],
    [() => {}, /call it, as in useModule\(health\(\)\); add middleware with use\(\)$/],
    [{ name: 'auth', gate: () => {} }, /add a policy with use\(\)$/],
    [{ middleware: () => {} }, /add a policy with use\(\)$/],
    [{ beforeSend: () => {} }, /add a policy with use\(\)$/],
  ]
  for (const [module, message] of cases) assert.throws(() => checkModule(module as never), { code: 'WEIR_OPTION_INVALID', message })
  assert.doesNotThrow(() => checkModule({ name: 'a', install: () => {} }))
})
