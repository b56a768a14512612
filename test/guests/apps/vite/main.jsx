import { text } from './text.js'

const show = (now) => {
  document.body.textContent = now
}

show(text)
if (import.meta.hot) import.meta.hot.accept('./text.js', (changed) => show(changed.text))
