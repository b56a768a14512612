import assert from 'node:assert/strict'
import { test } from 'node:test'

import { html, Markup } from './markup.ts'

test('everything that is put in is escaped, unless it is markup', () => {
  assert.equal(html`<p title="${`"'&<>`}">${7}</p>`.text, '<p title="&quot;&#39;&amp;&lt;&gt;">7</p>')
  assert.equal(html`<p>${new Markup('<b>')}${[html`${'<'}`, html`i`]}</p>`.text, '<p><b>&lt;i</p>')
})

test('what cannot be seen is shown, except line ends and tabs', () => {
  assert.equal(html`${'a\n\tb'}`.text, 'a\n\tb')
  assert.doesNotMatch(html`${'a\u202eb\u0000'}`.text, /[\u202e\u0000]/)
})
