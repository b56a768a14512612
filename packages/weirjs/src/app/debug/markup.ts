// HTML in which everything that is put in is escaped: html`<p>${text}</p>`.

import { visible } from '../../base/visible.ts'

/** Text that is HTML already. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Insertable = string | number | Markup | readonly Markup[]

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

export function html(parts: TemplateStringsArray, ...values: readonly Insertable[]): Markup {
  return new Markup(parts.reduce((text, part, i) => text + textOf(values[i - 1]!) + part))
}

function textOf(value: Insertable): string {
  if (value instanceof Markup) return value.text
  if (typeof value === 'object') return value.map(textOf).join('')
  // Line ends and tabs can be seen.
  const parts = String(value).split(/([\n\t])/)
  return parts.map((part, i) => (i % 2 === 1 ? part : visible(part).replace(/[&<>"']/g, (char) => ENTITIES[char]!))).join('')
}
