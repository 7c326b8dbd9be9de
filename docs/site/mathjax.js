MathJax.Hub.Config({showMathMenu: false, messageStyle: 'none', SVG: {scale: 95, font: 'TeX', linebreaks: {automatic: false}}});
