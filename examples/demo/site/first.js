// The first card: it sends a wrong value by itself, once, and shows what the server says of it.

import { element } from './element.js'
import { explain, showLines } from './explain.js'

const form = document.querySelector('#first-form')
const answer = document.querySelector('#first .answer')
const why = document.querySelector('#first .why')

async function send(body) {
  const started = performance.now()
  const response = await fetch('notes', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
  const text = await response.text()
  const took = performance.now() - started
  const explained = await explain({ method: 'POST', target: '/notes', type: 'application/json', body })
  answer.dataset.kind = String(response.status)[0]
  answer
    .querySelector('.summary')
    .replaceChildren(element('strong', `${response.status} ${response.statusText}`), ' ', element('span', `${took.toFixed(1)} ms`))
  answer.querySelector('.response').textContent = JSON.stringify(JSON.parse(text), null, 2)
  showLines(why, explained)
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void send(form.elements.body.value)
})
document.querySelector('#first-right').addEventListener('click', () => {
  form.elements.body.value = '{ "title": "buy milk" }'
  void send(form.elements.body.value)
})
await send(form.elements.body.value)
