import { element } from './element.js'

/** Shows values as bars of a list. The longest takes the whole width. @param rows `{ name, value, text, isOwn }`; a value may be missing */
export function showBars(list, rows) {
  const most = Math.max(...rows.map(({ value = 0 }) => value))
  list.replaceChildren(
    ...rows.flatMap(({ name, value = 0, text, isOwn }) => {
      const bar = element('span', '', 'bar')
      bar.style.inlineSize = `${most === 0 ? 0 : (value / most) * 100}%`
      const shown = element('dd', '')
      const track = element('span', '', 'track')
      track.append(bar)
      shown.append(track, element('span', text, 'value'))
      const title = element('dt', name)
      if (isOwn) title.className = shown.className = 'own'
      return [title, shown]
    }),
  )
}
