// Pointing at an adapter in a legend or in the table shows its lines in front of the others.
const marked = document.querySelectorAll('[data-a]');
const pick = name => {
  document.body.classList.toggle('picked', name !== null);
  marked.forEach(e => e.classList.toggle('on', e.dataset.a === name));
};
document.querySelectorAll('.legend [data-a], tr[data-a]').forEach(e => {
  e.addEventListener('mouseenter', () => pick(e.dataset.a));
  e.addEventListener('mouseleave', () => pick(null));
});
