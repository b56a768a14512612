import { element } from './element.js'

/** What the server says of a request without answering it. The bytes of a form or a file stay in the browser. */
export async function explain({ method, target, type, fields = {}, cookie = '', body }) {
  const asked = new URLSearchParams({ method, target })
  const all = { ...fields, ...(type ? { 'Content-Type': type } : {}), ...(cookie ? { Cookie: cookie } : {}) }
  for (const [name, value] of Object.entries(all)) asked.append('field', `${name}: ${value}`)
  const isText = typeof body === 'string'
  if (isText) asked.set('content', body)
  const response = await fetch(`explain?${asked}`)
  const text = await response.text()
  if (!response.ok) return `The server does not explain this: ${text}`
  return body === undefined || isText ? text : `Without the body, which has not been sent for this:\n\n${text}`
}

/** Shows the lines of an explanation so that long ones keep their column. */
export function showLines(panel, text) {
  panel.replaceChildren(...text.split(/(?<=\n)/).map((line) => element('span', line)))
}
